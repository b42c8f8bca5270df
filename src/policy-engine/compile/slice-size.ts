import type { Slice, SlicePolicy } from './compiled-policy.ts'
import type { Fault } from './policy-document.ts'
import { buildSlice, bytesPerValue } from './slice.ts'

/** The limit for the time that the policies of one slice add to a decision, in µs. */
export const maxSliceCostUs = 2000

/** The limit for the text of a slice, in bytes. Checked when a policy is written. */
export const maxSliceBytes = 256 * 1024

/** The limit for the memory of a slice inside the module, in bytes. Checked when a policy is written. */
export const maxSliceMemory = 8 * 1024 * 1024

/** The limited sizes of a slice. */
export type SliceSize = Pick<Slice, 'costUs' | 'bytes' | 'memory'>

/** The fault if a slice with the policy to be written exceeds a limit times `scale`; `about` names its queries. */
export function sliceFault(
  { costUs, bytes, memory }: SliceSize,
  about: string,
  scale = 1,
): Fault | undefined {
  const [maxCostUs, maxBytes, maxMemory] = [
    maxSliceCostUs * scale,
    maxSliceBytes * scale,
    maxSliceMemory * scale,
  ]
  if (costUs > maxCostUs) return fault('too_costly', about, `${costUs} µs of each decision`, maxCostUs)
  if (bytes > maxBytes) return fault('too_large', about, `${bytes} bytes`, maxBytes)
  if (memory > maxMemory)
    return fault('too_large', about, `${memory} bytes of the engine's memory`, maxMemory)
  return undefined
}

const fault = (code: 'too_costly' | 'too_large', about: string, taken: string, limit: number): Fault => ({
  pointer: '/conditions',
  code,
  detail: `With this policy, the policies about ${about} would take ${taken} together; the limit is ${limit}. Use fewer or smaller ones.`,
})

/** The most that a policy adds to a slice. Policies with the same principals add less. */
export function sizeInSlice(policy: SlicePolicy): SliceSize {
  const { roles, departments, users } = policy.compiled.subjects
  const { costUs, bytes, memory } = buildSlice('', 0, [policy])
  // In a larger slice its key is longer and a comma follows. It is in two lists at most.
  const mentions = 1 + 2 * Math.max(1, roles.length + departments.length + users.length)
  return {
    costUs,
    bytes: bytes - emptySize.bytes + 4 * mentions,
    memory: memory - emptySize.memory + (bytesPerValue + 4) * mentions,
  }
}

const emptySize: SliceSize = buildSlice('', 0, [])

/** An upper bound for the size of a slice with all of these policies. */
export function sumOfSizes(sizes: Iterable<SliceSize>): SliceSize {
  const sum = { costUs: 0, bytes: emptySize.bytes, memory: emptySize.memory }
  for (const { costUs, bytes, memory } of sizes) {
    sum.costUs += costUs
    sum.bytes += bytes
    sum.memory += memory
  }
  return sum
}
