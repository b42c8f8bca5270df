import type { Slice, SlicePolicy } from './compiled-policy.ts'
import type { Fault } from './policy-document.ts'
import { buildSlice, bytesPerValue } from './slice.ts'

/** The most that the policies of one slice may cost one decision together, in µs. */
export const maxSliceCostUs = 2000

/** The most bytes of text that a slice may have when a policy is written. */
export const maxSliceBytes = 256 * 1024

/** The most bytes that a slice may take inside the module when a policy is written. */
export const maxSliceMemory = 8 * 1024 * 1024

/** What is limited of a slice. */
export type SliceSize = Pick<Slice, 'costUs' | 'bytes' | 'memory'>

/** What is wrong with the size of a slice that a written policy would become part of, if anything. */
export function sliceFault({ costUs, bytes, memory }: SliceSize, about: string): Fault | undefined {
  if (costUs > maxSliceCostUs)
    return fault('too_costly', about, `${costUs} µs of each decision`, maxSliceCostUs)
  if (bytes > maxSliceBytes) return fault('too_large', about, `${bytes} bytes`, maxSliceBytes)
  if (memory > maxSliceMemory)
    return fault('too_large', about, `${memory} bytes of the engine's memory`, maxSliceMemory)
  return undefined
}

const fault = (code: 'too_costly' | 'too_large', about: string, taken: string, limit: number): Fault => ({
  pointer: '/conditions',
  code,
  detail: `With this policy, the policies about ${about} would take ${taken} together; the limit is ${limit}. Use fewer or smaller ones.`,
})

/** How much a policy adds to a slice at most. Policies that name the same principals add less. */
export function sizeInSlice(policy: SlicePolicy): SliceSize {
  const { roles, departments, users } = policy.compiled.subjects
  const { costUs, bytes, memory } = buildSlice('', 0, [policy])
  // Its key is longer among others, and a comma follows. It stands in two lists at most.
  const mentions = 1 + 2 * Math.max(1, roles.length + departments.length + users.length)
  return {
    costUs,
    bytes: bytes - emptySize.bytes + 4 * mentions,
    memory: memory - emptySize.memory + (bytesPerValue + 4) * mentions,
  }
}

const emptySize: SliceSize = buildSlice('', 0, [])

/** The sizes of several together. */
export function sumOfSizes(sizes: Iterable<SliceSize>): SliceSize {
  const sum = { costUs: 0, bytes: emptySize.bytes, memory: emptySize.memory }
  for (const { costUs, bytes, memory } of sizes) {
    sum.costUs += costUs
    sum.bytes += bytes
    sum.memory += memory
  }
  return sum
}
