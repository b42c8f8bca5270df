import type { Slice } from '../compile/compiled-policy.ts'
import { maxSliceBytes, maxSliceMemory } from '../compile/slice-size.ts'
import { createLruCache } from '../lru-cache.ts'
import type { PolicyInstance } from './policy-instance.ts'

/** One evaluation: the policies, the input (JSON), and how to read the answer. */
export interface Evaluation<T> {
  slice: Slice
  input: string
  evaluate(instance: PolicyInstance): T
}

/** Evaluates; with `isolate`, not in the instance that decisions share. Throws the error of the last attempt. */
export type RunEvaluation = <T>(evaluation: Evaluation<T>, isolate?: boolean) => T

// A full instance is replaced, because an instance never frees slices. The rest of its memory is for one evaluation.
const maxSlicesMemory = 48 * 1024 * 1024
const maxSlicesMemoryOfTenant = 12 * 1024 * 1024
// Smaller slices, such as those without policies, always share.
const smallSliceMemory = 32 * 1024
const maxSharedInput = 64 * 1024
const suspectsKept = 1_000

/**
 * Creates the runner of evaluations. Decisions of all tenants share one instance, which keeps their parsed slices.
 * Evaluations with a higher risk of failure run in a second, isolated instance, so that a failure does not affect
 * other tenants: the first use of a slice, large inputs, and slices of a tenant that has many. After a throw the
 * instance is dropped, because the abort leaves the module's stack pointer wrong. If it was the shared one, a spare
 * replaces it, and that tenant's policies run isolated until they change.
 */
export function evaluationRunner(instantiate: () => PolicyInstance, first: PolicyInstance): RunEvaluation {
  let shared = first
  let spare: PolicyInstance | undefined
  let isolated: PolicyInstance | undefined
  let takenBy = new Map<string, number>()
  const evaluatedOnce = new WeakSet<Slice>()
  const suspects = createLruCache<number>(suspectsKept)

  // Later, so that the request that found the shared instance full or broken does not wait.
  const prepareSpare = () => {
    setImmediate(() => {
      spare ??= instantiate()
    })
  }
  const replaceShared = () => {
    shared = spare ?? instantiate()
    spare = undefined
    takenBy = new Map()
    prepareSpare()
  }
  const canShare = ({ slice, input }: Evaluation<unknown>): boolean => {
    const small = slice.memory <= smallSliceMemory
    if (!small && !evaluatedOnce.has(slice)) return false
    if (input.length > maxSharedInput || suspects.get(slice.tenantId) === slice.revision) return false
    if (shared.holds(slice)) return true
    const taken = (takenBy.get(slice.tenantId) ?? 0) + slice.memory
    if (taken > maxSlicesMemoryOfTenant) return false
    if (shared.usedBytes() + slice.memory > maxSlicesMemory) replaceShared()
    takenBy.set(slice.tenantId, taken)
    return true
  }
  const runShared = <T>({ slice, evaluate }: Evaluation<T>): { answer: T } | undefined => {
    try {
      return { answer: evaluate(shared) }
    } catch {
      suspects.set(slice.tenantId, slice.revision, 1)
      replaceShared()
      return undefined
    }
  }
  const runIsolated = <T>({ slice, evaluate }: Evaluation<T>): T => {
    if (!isolated || (!isolated.holds(slice) && isolated.usedBytes() + slice.memory > maxSlicesMemory))
      isolated = instantiate()
    try {
      const answer = evaluate(isolated)
      evaluatedOnce.add(slice)
      return answer
    } catch (error) {
      isolated = undefined
      throw error
    }
  }

  prepareSpare()
  return (evaluation, isolate = false) => {
    assertLoadable(evaluation.slice)
    const answered = !isolate && canShare(evaluation) ? runShared(evaluation) : undefined
    return answered ? answered.answer : runIsolated(evaluation)
  }
}

// A policy stored before sizes were limited can exceed the limits for writing. Twice these limits still fit.
function assertLoadable({ bytes, memory }: Slice): void {
  if (bytes > 2 * maxSliceBytes || memory > 2 * maxSliceMemory)
    throw new Error(`a slice of ${bytes} bytes (${memory} in memory) is too large to load`)
}
