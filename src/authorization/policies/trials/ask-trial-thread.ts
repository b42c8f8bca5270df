import type { Deps } from '../../../deps.ts'
import { tooCostly } from '../../../limits/decision-time.ts'
import { type WorkFor, workBudget } from '../../../limits/work-budget.ts'
import type { Bundle } from '../../../policy-engine/evaluate/bundle.ts'
import { type AskThread, reusedThread } from '../../../policy-engine/sandbox/run-thread.ts'
import type { PolicyInStore, TenantPolicies } from '../active-store.ts'
import { isQuick, type Review, type Reviewed, reviewPolicy } from '../review-policy.ts'
import type { Replay, Replayed } from './replay.ts'

interface ReplayWith extends Replay {
  kind: 'replay'
}

/** A policy as the thread knows it: with another state it has to be sent again. */
export interface PolicyState {
  id: string
  state: string
}

/** `wanted` is answered with the ids of those that the thread lacks, `sent` is not answered. */
export type ToTrialThread =
  | { tenantId: string; wanted: readonly PolicyState[] }
  | { tenantId: string; sent: readonly (PolicyState & { policy: PolicyInStore })[] }
  | (Omit<TenantPolicies, 'policies'> & { ids: readonly string[]; task: Review | ReplayWith })

// Starting a thread takes a tenth of a second of CPU, opening its engine three, and a thousand decisions at most two seconds.
const maxMs = 15_000
const idleMs = 30_000
const module = new URL('./trial-thread.ts', import.meta.url)
const threads = new WeakMap<Bundle, AskThread>()

function threadOf(bundle: Bundle): AskThread {
  const thread = threads.get(bundle) ?? reusedThread(module, bundle, idleMs)
  threads.set(bundle, thread)
  return thread
}

type Access = Pick<Deps, 'access'>

/**
 * Measures a policy together with the tenant's others, and compares it with them: in a thread, unless that is quick. Throws
 * 503 `too_costly` or `overloaded`.
 */
export const askReview = async (
  deps: Access,
  by: WorkFor,
  active: TenantPolicies,
  task: Omit<Review, 'kind'>,
): Promise<Reviewed> => {
  const review = { kind: 'review', ...task } as const
  return isQuick(active, task.policy)
    ? reviewPolicy(active, review)
    : askThread<Reviewed>(deps, by, active, review)
}

/** Decides recorded decisions again, in a thread. The answers are those of `replayDecisions`. Throws as `askReview` does. */
export const askReplay = (
  deps: Access,
  by: WorkFor,
  active: TenantPolicies,
  task: Replay,
): Promise<Replayed[]> => askThread(deps, by, active, { kind: 'replay', ...task })

/** One task at a time, so that the policies which the thread lacks can be sent before it. */
const askThread = <T>(
  { access }: Access,
  by: WorkFor,
  active: TenantPolicies,
  task: Review | ReplayWith,
): Promise<T> =>
  workBudget.inTurn('trials', by, async () => {
    const ask = threadOf(access.bundle)
    const late = () => tooCostly(30)
    const { policies, ...about } = active
    const { tenantId } = about
    const lacking = new Set(await ask<string[]>([{ tenantId, wanted: policies.map(stateOf) }], maxMs, late))
    const parts = inParts(policies.filter(({ id }) => lacking.has(id)))
    const messages = [
      ...parts.map((part) => ({ tenantId, sent: part.map((policy) => ({ ...stateOf(policy), policy })) })),
      { ...about, ids: policies.map(({ id }) => id), task },
    ] satisfies ToTrialThread[]
    return ask<T>(messages, maxMs, late)
  })

const stateOf = ({ id, version, wasm }: PolicyInStore): PolicyState => ({
  id,
  state: `${version}${wasm ? ' with its module' : ''}`,
})

const maxPartBytes = 64 * 1024

/** Policies in parts that are sent in one turn of the event loop each. */
function inParts(policies: readonly PolicyInStore[]): PolicyInStore[][] {
  const parts: PolicyInStore[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const policy of policies) {
    // Copying the bytes of a module costs little.
    const size = policy.bytes + (policy.wasm?.length ?? 0) / 16
    if (bytes + size > maxPartBytes) {
      parts.push([])
      bytes = 0
    }
    parts.at(-1)!.push(policy)
    bytes += size
  }
  return parts
}
