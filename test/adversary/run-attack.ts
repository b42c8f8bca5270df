import { type Attack, type Size, Tally } from './attack.ts'
import { openStage } from './stage.ts'

/** Runs one attack on a stage of its own. An attack that cannot be carried out is a finding. */
export async function runAttack(attack: Attack, size: Size): Promise<Tally> {
  const tally = new Tally()
  const { stage, close } = openStage(size)
  try {
    await attack.run(stage, tally)
  } catch (error) {
    tally.find(`the attack broke off: ${(error as Error).stack}`)
  } finally {
    await close()
  }
  return tally
}
