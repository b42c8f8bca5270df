import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryOf } from '../../bench/cpu.ts'
import type { Stage } from './stage.ts'

/** Memory (MB) of a process under a steady load, at the end of each fifth of the time. */
interface Grown {
  resident: number[]
  /** What it holds after a collection. */
  heap: number[]
  heap_mb_per_hour: number
}

/** By process. */
export type Growth = Record<string, Grown>

const samplesPerMinute = 6

/** Resident memory of each process, in MB. */
export const memory = ({ apis, workers }: Stage): number[] =>
  [...apis, ...workers].map(({ pid }) => Math.round(memoryOf(pid())))

/**
 * Measures for some minutes. The slope is that of the second half: in the first one, caches fill. Empty if there is no time
 * to measure.
 */
export async function measureGrowth(stage: Stage, minutes: number): Promise<Growth> {
  const processes = [...stage.apis, ...stage.workers]
  const rows: { resident: number; heap: number }[][] = []
  for (let n = 0; n < minutes * samplesPerMinute; n++) {
    await sleep(60_000 / samplesPerMinute)
    rows.push(
      await Promise.all(
        processes.map(async ({ pid }) => ({ resident: memoryOf(pid()), heap: await heapOf(stage, pid()) })),
      ),
    )
  }
  if (rows.length < 10) return {}
  return Object.fromEntries(
    processes.map(({ name }, n) => [`${name} ${n + 1}`, growthOf(rows.map((row) => row[n]!))]),
  )
}

const heapOf = async ({ folder }: Stage, pid: number) =>
  Number(await readFile(join(folder, `${pid}.heap`), 'utf8').catch(() => Number.NaN))

function growthOf(samples: readonly { resident: number; heap: number }[]): Grown {
  const fifths = [1, 2, 3, 4, 5].map((part) => samples[Math.floor((samples.length * part) / 5) - 1]!)
  const late = samples.slice(samples.length / 2).map(({ heap }) => heap)
  return {
    resident: fifths.map(({ resident }) => Math.round(resident)),
    heap: fifths.map(({ heap }) => Math.round(heap * 10) / 10),
    heap_mb_per_hour: Math.round(slope(late) * samplesPerMinute * 60 * 10) / 10,
  }
}

/** The slope of the line through evenly spaced values, by least squares; per step. */
function slope(values: readonly number[]): number {
  const middle = (values.length - 1) / 2
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const above = values.reduce((sum, value, n) => sum + (n - middle) * (value - mean), 0)
  return above / values.reduce((sum, _, n) => sum + (n - middle) ** 2, 0)
}
