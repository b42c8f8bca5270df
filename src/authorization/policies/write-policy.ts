import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween, doneBy } from '../../platform/audit/append-audit.ts'
import { inTenant, type Tx } from '../../platform/db/transaction.ts'
import { ApiError, unavailable } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { causedBy } from '../../platform/outbox/caused-by.ts'
import { growPolicyRevision } from '../../tenancy/tenants/store.ts'
import { type Compiled, compileBody, type PatternCost, policyInvalid } from './compile-body.ts'
import { draftOf } from './draft-of.ts'
import type { Draft } from './policy-body.ts'
import { type ActivePolicy, overBudget } from './slice-budget.ts'
import {
  countPolicies,
  findPolicy,
  insertPolicy,
  listActivePolicies,
  type NewPolicy,
  type PolicyRow,
  replacePolicy,
} from './store.ts'
import { insertVersion } from './version-store.ts'
import { readVocabulary, sameVocabulary, type Vocabulary } from './vocabulary.ts'

export type PolicyDeps = Deps & { patternCostUs: PatternCost }

/** What is to be written: over `current`, or as a new policy where that is null. */
export interface Intent {
  id: string
  body: Draft
  reason: string
}

/** A policy as it was written, with what its author should know. */
export interface Written {
  row: PolicyRow
  roles: Vocabulary['roles']
  warnings: Compiled['warnings']
}

const maxPolicies = 500
const maxTries = 5

/** Somebody else changed the tenant's roles, attributes or this policy between reading and writing. */
class Overtaken extends Error {}

/**
 * Writes a version of a policy. `intend` says what, given the present one (null where there is none), and may throw;
 * it is asked again when others were faster. Compiling takes long and stays outside of the transactions, so the
 * second one makes sure that what the first one read still holds.
 */
export async function writePolicy(
  deps: PolicyDeps,
  caller: Caller,
  asked: { id: string | null; text: () => string },
  intend: (current: PolicyRow | null, vocabulary: Vocabulary) => Intent,
): Promise<Written> {
  for (let tries = 0; tries < maxTries; tries++) {
    const { current, vocabulary } = await inTenant(deps.db, caller, async (tx) => ({
      current: asked.id === null ? null : await findPolicy(tx, caller.tenantId, asked.id),
      vocabulary: await readVocabulary(tx, caller.tenantId),
    }))
    const intent = intend(current, vocabulary)
    const compiled = compileBody(intent.body, vocabulary, deps.patternCostUs, asked.text)
    const plan = { intent, compiled, current, vocabulary, text: asked.text }
    const measuredAt = await measure(deps, caller, plan)
    try {
      return await store(deps, caller, plan, measuredAt)
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error
    }
  }
  throw unavailable('overloaded', 'Others change the policies of this tenant at the same time. Try again.', 1)
}

interface Plan {
  intent: Intent
  compiled: Compiled
  current: PolicyRow | null
  vocabulary: Vocabulary
  text: () => string
}

function store(deps: Deps, caller: Caller, plan: Plan, measuredAt: number | null): Promise<Written> {
  const { intent, compiled, current, vocabulary } = plan
  const { tenantId, userId } = caller
  const at = deps.clock()
  const { fields, rules, checksum } = compiled
  const version = (current?.version ?? 0) + 1
  const policy: NewPolicy = {
    tenantId,
    id: intent.id,
    version,
    fields,
    rules,
    compiled: compiled.compiled,
    checksum,
    authorId: userId,
    at,
  }
  return inTenant(deps.db, caller, async (tx) => {
    const before = (await growFrom(tx, tenantId, vocabulary)) - 1
    // Others wrote since the policies were measured together. Measuring again here never loses against them.
    if (measuredAt !== null && measuredAt !== before)
      assertAffordable(tenantId, plan, (await listActivePolicies(tx, tenantId)).policies)
    if (!current) await insertPolicy(tx, policy)
    else if (!(await replacePolicy(tx, policy))) throw new Overtaken()
    if ((await countPolicies(tx, tenantId)) > maxPolicies)
      throw new ApiError(409, 'limit_reached', `A tenant may have ${maxPolicies} policies.`)
    await insertVersion(tx, policy, intent.reason)
    await appendEvent(tx, {
      ...causedBy(caller, at),
      type: current ? 'authorization.policy_updated' : 'authorization.policy_created',
      subject: intent.id,
      data: { policy_id: intent.id, version },
    })
    const row = await findPolicy(tx, tenantId, intent.id)
    if (!row) throw new Error('The policy just written cannot be seen')
    await appendAudit(tx, {
      ...doneBy(caller, at),
      action: current ? 'policy:update' : 'policy:create',
      target: { type: 'policy', id: intent.id },
      changes: changesBetween(current && draftOf(current), draftOf(row)),
    })
    return { row, roles: vocabulary.roles, warnings: compiled.warnings }
  })
}

/** Takes the tenant's next revision and gives it; nobody else changes its words until the end of the transaction. */
async function growFrom(tx: Tx, tenantId: string, vocabulary: Vocabulary): Promise<number> {
  const revision = await growPolicyRevision(tx, tenantId)
  if (revision !== vocabulary.revision + 1 && !sameVocabulary(vocabulary, await readVocabulary(tx, tenantId)))
    throw new Overtaken()
  return revision
}

/** Measures an active policy together with the others, and gives the revision at which. Throws 422. */
async function measure(deps: Deps, { tenantId, userId }: Caller, plan: Plan): Promise<number | null> {
  if (!plan.compiled.fields.is_active) return null
  const active = await inTenant(deps.db, { tenantId, userId }, (tx) => listActivePolicies(tx, tenantId))
  assertAffordable(tenantId, plan, active.policies)
  return active.revision
}

function assertAffordable(tenantId: string, plan: Plan, active: readonly ActivePolicy[]): void {
  const { intent, compiled, current } = plan
  const version = (current?.version ?? 0) + 1
  const policy = { ...compiled.fields, id: intent.id, version, compiled: compiled.compiled }
  const fault = overBudget(tenantId, policy, active)
  if (fault) throw policyInvalid([fault], plan.text())
}
