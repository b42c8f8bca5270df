import type { Slice } from '../compile/compiled-policy.ts'
import { maxSliceBytes, maxSliceMemory } from '../compile/slice-size.ts'
import { keepRecentlyUsed } from '../recently-used.ts'
import type { PolicyInstance } from './module.ts'

/** One evaluation: with whose policies, of what input (JSON), and how its answer is read. */
export interface Evaluation<T> {
  slice: Slice
  input: string
  evaluate(instance: PolicyInstance): T
}

/** Evaluates. `aside` keeps out of the instance that decisions share. Throws what the last attempt threw. */
export type RunEvaluation = <T>(evaluation: Evaluation<T>, aside?: boolean) => T

// An instance that fills up is replaced, because slices nobody asks for any more stay in it. Above this there is
// room for one evaluation.
const maxSlicesMemory = 48 * 1024 * 1024
const maxSlicesMemoryOfTenant = 12 * 1024 * 1024
// What takes less inside the module, the slice of a tenant without policies above all, fits anywhere.
const smallSliceMemory = 32 * 1024
const maxSharedInput = 64 * 1024
const suspectsKept = 1_000

/**
 * Makes the runner of evaluations. Decisions of all tenants share one instance, with their slices parsed in it. What
 * may fail is evaluated aside, in a second instance, so that a failure costs other tenants nothing: a slice at its
 * first question, large inputs, and slices of a tenant that has many. After a throw an instance is given up, because
 * the module's stack pointer stays where the abort left it. Where it was the shared one, the policies of that tenant
 * are kept aside until they change, and a spare takes its place.
 */
export function evaluationRunner(instantiate: () => PolicyInstance, first: PolicyInstance): RunEvaluation {
  let shared = first
  let spare: PolicyInstance | undefined
  let aside: PolicyInstance | undefined
  let takenBy = new Map<string, number>()
  const evaluatedOnce = new WeakSet<Slice>()
  const suspects = keepRecentlyUsed<number>(suspectsKept)

  // Off the path of the request that finds the shared instance full or broken.
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
  const mayShare = ({ slice, input }: Evaluation<unknown>): boolean => {
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
  const runAside = <T>({ slice, evaluate }: Evaluation<T>): T => {
    if (!aside || (!aside.holds(slice) && aside.usedBytes() + slice.memory > maxSlicesMemory))
      aside = instantiate()
    try {
      const answer = evaluate(aside)
      evaluatedOnce.add(slice)
      return answer
    } catch (error) {
      aside = undefined
      throw error
    }
  }

  prepareSpare()
  return (evaluation, keepOut = false) => {
    assertLoadable(evaluation.slice)
    const answered = !keepOut && mayShare(evaluation) ? runShared(evaluation) : undefined
    return answered ? answered.answer : runAside(evaluation)
  }
}

// Stored before slices were measured. Twice the bounds of writing still fits into an instance.
function assertLoadable({ bytes, memory }: Slice): void {
  if (bytes > 2 * maxSliceBytes || memory > 2 * maxSliceMemory)
    throw new Error(`a slice of ${bytes} bytes, ${memory} in memory, is not loaded`)
}
