import { setTimeout as sleep } from 'node:timers/promises'
import { memoryOf } from '../../bench/cpu.ts'
import type { Stage } from './stage.ts'

/** Resident memory (MB) of each process under a steady load: its value at the end of each fifth of the time, and its slope. */
export type Growth = Record<string, { fifths: number[]; mb_per_hour: number }>

const samplesPerMinute = 6

/** Resident memory of each process, in MB. */
export const memory = ({ apis, workers }: Stage): number[] =>
  [...apis, ...workers].map(({ pid }) => Math.round(memoryOf(pid())))

/**
 * Measures for some minutes. The slope is that of the second half: in the first one, caches fill. Empty if there is no time
 * to measure.
 */
export async function measureGrowth(stage: Stage, minutes: number): Promise<Growth> {
  const rows: number[][] = []
  for (let n = 0; n < minutes * samplesPerMinute; n++) {
    await sleep(60_000 / samplesPerMinute)
    rows.push([...stage.apis, ...stage.workers].map(({ pid }) => memoryOf(pid())))
  }
  if (rows.length < 10) return {}
  const names = [...stage.apis, ...stage.workers].map(({ name }, n) => `${name} ${n + 1}`)
  return Object.fromEntries(names.map((name, column) => [name, growthOf(rows.map((row) => row[column]!))]))
}

function growthOf(values: readonly number[]): Growth[string] {
  const fifths = [1, 2, 3, 4, 5].map((part) =>
    Math.round(values[Math.floor((values.length * part) / 5) - 1]!),
  )
  const late = values.slice(values.length / 2)
  return { fifths, mb_per_hour: Math.round(slope(late) * samplesPerMinute * 60 * 10) / 10 }
}

/** The slope of the line through evenly spaced values, by least squares; per step. */
function slope(values: readonly number[]): number {
  const middle = (values.length - 1) / 2
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const above = values.reduce((sum, value, n) => sum + (n - middle) * (value - mean), 0)
  return above / values.reduce((sum, _, n) => sum + (n - middle) ** 2, 0)
}
