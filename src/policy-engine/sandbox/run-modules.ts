import { moduleFinding, moduleRan, type SlicePolicy } from '../compile/compiled-policy.ts'
import { type AttributeValue, attributesOf } from '../evaluate/attributes.ts'
import type { AnyQuery } from '../evaluate/query.ts'
import { type ModuleOutcome, type ModulePool, moduleDeadlineMs } from './module-pool.ts'

/** A policy whose module took too much time or memory, and whether that cost a thread. */
export interface LateModule {
  policyId: string
  version: number
  /** of the module, which can be that of a draft */
  key: string
  killed: boolean
}

/** What the modules of a question said. */
export interface ModuleFindings {
  /** for the proofs of the policies: `moduleFinding` and `moduleRan` of each module that ran */
  attrs: Record<string, boolean>
  /** the policies without an answer, with the code of the reason */
  faults: ReadonlyMap<string, 'policy_timeout' | 'policy_failed'>
  late: readonly LateModule[]
  /** the sentences of each policy's module */
  messages: ReadonlyMap<string, readonly string[]>
}

// The CPU time of all modules of one question. A module starts only while at least 5 ms of the 10 ms are left; otherwise
// it counts as late.
const questionDeadlineMs = 10
// Of time, for a machine that is too busy to run the modules or to load them.
const maxQuestionMs = 500

/**
 * Runs the modules of policies on a question, one after another. After one that is killed, or when the 10 ms of CPU time
 * that they have together are used up, no other runs: it is late. A module that lacks an attribute that it needs does not
 * run and finds nothing: then a deny applies, and an allow does not.
 */
export function runModules(
  pool: ModulePool,
  query: AnyQuery,
  policies: readonly SlicePolicy[],
): ModuleFindings {
  const attrs: Record<string, boolean> = {}
  const faults = new Map<string, 'policy_timeout' | 'policy_failed'>()
  const messages = new Map<string, readonly string[]>()
  const late: LateModule[] = []
  const begun = performance.now()
  let usedMs = 0
  // Checked before a module runs, so that none is killed for the time that others took.
  const isTimeUsed = () =>
    usedMs > questionDeadlineMs - moduleDeadlineMs || performance.now() - begun > maxQuestionMs
  let isEnded = false
  // Policies with the same module read the same attributes.
  const outcomes = new Map<string, ModuleOutcome>()
  for (const { id, version, compiled, wasm } of policies) {
    const { key, needed } = compiled.module!
    const values = attributesOf(query, compiled.attributes)
    if (needed.some((name) => (values[name] ?? null) === null)) {
      attrs[moduleRan(key)] = true
      continue
    }
    isEnded ||= isTimeUsed()
    const known = wasm ? outcomes.get(key) : undefined
    const outcome: ModuleOutcome | undefined =
      known ??
      (wasm && !isEnded ? pool.evaluate(query.subject.tenantId, { key, wasm }, inputOf(values)) : undefined)
    if (!outcome) {
      // It was switched off, or no time is left for it.
      faults.set(id, 'policy_timeout')
      continue
    }
    outcomes.set(key, outcome)
    usedMs += known ? 0 : (outcome.usedMs ?? 0)
    if ('fault' in outcome) {
      const { fault, killed, isStuck = false } = outcome
      faults.set(id, fault === 'late' ? 'policy_timeout' : 'policy_failed')
      if (fault === 'late' && !known) late.push({ policyId: id, version, key, killed })
      isEnded ||= killed || isStuck
      continue
    }
    attrs[moduleRan(key)] = true
    attrs[moduleFinding(key)] = outcome.findings.length > 0
    messages.set(id, outcome.findings.filter(Boolean))
  }
  return { attrs, faults, late, messages }
}

/** The input of a module: its attributes by category. */
function inputOf(values: Record<string, AttributeValue | null>): string {
  const input: Record<string, Record<string, AttributeValue>> = {
    subject: {},
    resource: {},
    action: {},
    environment: {},
  }
  for (const [name, value] of Object.entries(values)) {
    const dot = name.indexOf('.')
    const category = input[name.slice(0, dot)]
    if (category && value !== null) category[name.slice(dot + 1)] = value
  }
  return JSON.stringify(input)
}
