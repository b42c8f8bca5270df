import { parentPort, workerData } from 'node:worker_threads'
import type { Bundle } from '../../../policy-engine/evaluate/bundle.ts'
import { type DecisionPoint, engineOf } from '../../../policy-engine/evaluate/engine.ts'
import { createLruCache } from '../../../policy-engine/lru-cache.ts'
import { lowerThreadPriority } from '../../../policy-engine/sandbox/thread-priority.ts'
import type { PolicyInStore, TenantPolicies } from '../active-store.ts'
import { reviewPolicy } from '../review-policy.ts'
import { modulesOf } from '../slice-policies.ts'
import type { PolicyState, ToTrialThread } from './ask-trial-thread.ts'
import { type Replay, type Replayed, replayDecisions } from './replay.ts'

// A thread that reviews policies and replays decisions: see ask-trial-thread.ts. It keeps the policies that it was sent,
// because naming them costs the event loop less than sending them.

type Policies = Map<string, { state: string; policy: PolicyInStore }>

const maxBytes = 48 * 1024 * 1024
const kept = createLruCache<Policies>(maxBytes)
const policiesOf = (tenantId: string): Policies => kept.get(tenantId) ?? new Map()
// Opening it takes 300 ms, and a review does not need it.
let trials: DecisionPoint | undefined

function lacking(tenantId: string, wanted: readonly PolicyState[]): string[] {
  const policies = policiesOf(tenantId)
  const states = new Map(wanted.map(({ id, state }) => [id, state]))
  for (const [id, { state }] of policies) if (states.get(id) !== state) policies.delete(id)
  return [...states.keys()].filter((id) => !policies.has(id))
}

function keep(tenantId: string, sent: readonly (PolicyState & { policy: PolicyInStore })[]): void {
  const policies = policiesOf(tenantId)
  for (const { id, state, policy } of sent) policies.set(id, { state, policy })
  let bytes = 1_000
  for (const { policy } of policies.values()) bytes += 3 * policy.bytes + (policy.wasm?.length ?? 0)
  kept.set(tenantId, policies, bytes)
}

async function replay(active: TenantPolicies, task: Replay): Promise<Replayed[]> {
  trials ??= engineOf(workerData as Bundle).trials
  const modules = modulesOf([...active.policies, task.policy])
  if (modules.length > 0) await trials.warmModules(modules)
  return replayDecisions(active, task, trials)
}

function answer({ ids, task, ...about }: Extract<ToTrialThread, { task: unknown }>) {
  const policies = policiesOf(about.tenantId)
  const active = { ...about, policies: ids.map((id) => policies.get(id)!.policy) }
  return task.kind === 'review' ? reviewPolicy(active, task) : replay(active, task)
}

lowerThreadPriority()
parentPort!.on('message', async (message: ToTrialThread) => {
  if ('sent' in message) keep(message.tenantId, message.sent)
  else
    parentPort!.postMessage(
      'wanted' in message ? lacking(message.tenantId, message.wanted) : await answer(message),
    )
})
