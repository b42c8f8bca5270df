import { type Attack, type Size, Stopped, Tally } from './attack.ts'
import { openStage } from './stage.ts'

/** The finding of an attack that could not be carried out begins so. */
export const brokenOff = 'the attack broke off'

/**
 * Runs one attack on a stage of its own. An attack that cannot be carried out is a finding. `stopsAtFirst`: it ends with
 * its first finding.
 */
export async function runAttack(attack: Attack, size: Size, { stopsAtFirst = false } = {}): Promise<Tally> {
  const tally = new Tally({ stopsAtFirst })
  const { stage, close } = openStage(size)
  try {
    await attack.run(stage, tally)
  } catch (error) {
    if (!(error instanceof Stopped)) tally.findings.push(`${brokenOff}: ${(error as Error).stack}`)
  } finally {
    await close()
  }
  return tally
}
