import { memoryOf } from './cpu.ts'
import { percentile } from './percentile.ts'
import { apiEnvironment, end, entry, type Stage, serve } from './stage.ts'

/** Median ms from the start of an API process to the first answer of /readyz, and its memory (MB) 2 s later. */
export async function measureStart(
  { config }: Stage,
  rounds: number,
): Promise<{ ms: number; idleMb: number }> {
  const times: number[] = []
  const memory: number[] = []
  for (let round = 0; round < rounds; round++) {
    const begun = performance.now()
    const { child } = await serve([entry, 'api'], apiEnvironment(config), '/readyz')
    times.push(performance.now() - begun)
    await new Promise((done) => setTimeout(done, 2_000))
    memory.push(memoryOf(child.pid!))
    await end(child)
  }
  return { ms: percentile(times, 0.5), idleMb: percentile(memory, 0.5) }
}
