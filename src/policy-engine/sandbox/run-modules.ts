import { moduleFinding, moduleRan, type SlicePolicy } from '../compile/compiled-policy.ts'
import { type AttributeValue, attributesOf } from '../evaluate/attributes.ts'
import { type AnyQuery, askerOf } from '../evaluate/query.ts'
import type { EndsOf } from './module-pauses.ts'
import type { LateReason, ModuleOutcome, ModulePool } from './module-pool.ts'

/** A policy whose module gave no answer in time, and why. */
export interface LateModule {
  policyId: string
  version: number
  why: LateReason
}

/** What the modules of a query said. */
export interface ModuleFindings {
  /** for the proofs of the policies: `moduleFinding` and `moduleRan` of each module that ran */
  attrs: Record<string, boolean>
  /** the policies without an answer, with the code of the reason */
  faults: ReadonlyMap<string, 'policy_timeout' | 'policy_failed'>
  late: readonly LateModule[]
  /** the sentences of each policy's module */
  messages: ReadonlyMap<string, readonly string[]>
}

// The modules of one query have this together: CPU time of their thread, and time. A decision is synchronous, so all other
// requests wait that long, too.
const queryCpuMs = 5
const queryMs = 10

/**
 * Runs the modules of policies on a query, one after another. After one that is late no other runs. A module that lacks
 * an attribute that it needs does not run and finds nothing: then a deny applies, and an allow does not.
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
  const left = { cpuMs: queryCpuMs, until: performance.now() + queryMs }
  // Policies with the same module read the same attributes.
  const outcomes = new Map<string, ModuleOutcome>()
  for (const { id, version, compiled, wasm } of policies) {
    const { key, needed } = compiled.module!
    const values = attributesOf(query, compiled.attributes)
    if (needed.some((name) => (values[name] ?? null) === null)) {
      attrs[moduleRan(key)] = true
      continue
    }
    if (!wasm) {
      // It was switched off.
      faults.set(id, 'policy_timeout')
      continue
    }
    const evaluate = (): ModuleOutcome => {
      if (late.length > 0 || left.cpuMs <= 0) return { fault: 'late', why: 'no_time' }
      const task = { ...endsOf(query), policyId: id, version, key, wasm }
      return pool.evaluate(task, inputOf(values), left)
    }
    const known = outcomes.get(key)
    const outcome = known ?? evaluate()
    outcomes.set(key, outcome)
    if ('fault' in outcome) {
      faults.set(id, outcome.fault === 'late' ? 'policy_timeout' : 'policy_failed')
      if (outcome.fault === 'late') late.push({ policyId: id, version, why: outcome.why })
      continue
    }
    if (!known) left.cpuMs -= outcome.usedMs
    attrs[moduleRan(key)] = true
    attrs[moduleFinding(key)] = outcome.findings.length > 0
    messages.set(id, outcome.findings.filter(Boolean))
  }
  return { attrs, faults, late, messages }
}

/**
 * Of whom the ends of a query are counted: of the person who asks, in all tenants. Where a service account asks, of the
 * person asked about, and only in its tenant: it must not deny them the others.
 */
function endsOf(query: AnyQuery): EndsOf {
  const { subject } = query
  const asker = askerOf(query)
  const isOfTenant = asker.type !== 'user'
  return {
    tenantId: subject.tenantId,
    subject: isOfTenant ? `${subject.tenantId} ${subject.id}` : asker.id,
  }
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
