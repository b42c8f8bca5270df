import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant, readRevision, revise } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { appendAudit, changesBetween, doneBy } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { causedBy } from '../../messages/outbox/caused-by.ts'
import { policyInvalid } from '../../request/body/policy-invalid.ts'
import type { Caller } from '../../request/caller.ts'
import { overtaken } from '../../request/route.ts'
import { countModules } from './active-store.ts'
import { type Compiled, compileBody } from './compile-body.ts'
import { measurePatterns } from './measure-patterns.ts'
import { prepareModule, tooManyModules } from './modules/prepare-module.ts'
import { auditedPolicy, type Draft } from './policy-body.ts'
import { type PolicySchema, readPolicySchema, samePolicySchema } from './policy-schema.ts'
import {
  countOwnPolicies,
  deleteOldVersions,
  insertPolicy,
  insertVersion,
  lockPolicy,
  type NewPolicy,
  type PolicyRow,
  replacePolicy,
  rowOf,
  unmanaged,
} from './store.ts'
import { readSurroundings } from './tenant-warnings.ts'
import { askReview } from './trials/ask-trial-thread.ts'

/** A written policy, with the warnings for its author. */
export interface Written {
  row: PolicyRow
  roles: PolicySchema['roles']
  warnings: Compiled['warnings']
}

const maxPolicies = 500

/** A planned version: it replaces `current`, or is a new policy if that is null. `schema` is the one of its compilation. */
export interface Plan {
  id: string
  reason: string
  current: PolicyRow | null
  schema: PolicySchema
  compiled: Compiled
  /** The revision at which the policy was measured with the others; null if it is not active. */
  measuredAt: number | null
  text: () => string
}

/** Compiles and measures a body before the transaction that writes it, because both are slow. Throws 422 `policy_invalid`. */
export async function planOf(
  deps: Deps,
  caller: Caller,
  { body, ...asked }: Omit<Plan, 'compiled' | 'measuredAt'> & { body: Draft },
): Promise<Plan> {
  const cost = await measurePatterns(body.conditions, caller)
  const module = await prepareModule(deps, caller, body, { policyId: asked.id, text: asked.text })
  const compiled = compileBody(body, asked.schema, cost, asked.text, '', module)
  const { names, warnings } = await readSurroundings(deps, caller, compiled)
  const { active } = await deps.policyCache.load(caller, asked.schema.revision)
  const version = (asked.current?.version ?? 0) + 1
  const policy = { ...compiled.fields, id: asked.id, version, compiled: compiled.compiled }
  const reviewed = await askReview(deps, caller, active, { policy, names })
  if (compiled.fields.is_active && reviewed.fault) throw policyInvalid([reviewed.fault], asked.text())
  return {
    ...asked,
    compiled: { ...compiled, warnings: [...compiled.warnings, ...reviewed.warnings, ...warnings] },
    measuredAt: compiled.fields.is_active ? active.revision : null,
  }
}

/**
 * Writes a version of a policy. Returns `overtaken` if the tenant's roles or attributes, or its policies, have changed
 * since the plan was made.
 */
export async function writePolicy(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  plan: Plan,
): Promise<Written | typeof overtaken> {
  const { id, compiled, current, schema, measuredAt } = plan
  const { tenantId, userId } = caller
  const at = deps.clock()
  const { fields, rules, checksum } = compiled
  const version = (current?.version ?? 0) + 1
  const policy: NewPolicy = {
    tenantId,
    id,
    version,
    fields,
    rules,
    compiled: compiled.compiled,
    checksum,
    module: compiled.module,
    managed: current
      ? { ...managedPart(current), chosen_active: chosenActive(current, fields.is_active) }
      : unmanaged,
    authorId: userId,
    at,
  }
  // Until the transaction ends, no role, attribute or policy of the tenant changes.
  await lockTenant(tx, tenantId)
  const [revision, versionNow, own, modules] = await Promise.all([
    readRevision(tx, tenantId),
    current && lockPolicy(tx, tenantId, id),
    current ? 0 : countOwnPolicies(tx, tenantId),
    current || !policy.module ? null : countModules(tx, tenantId),
  ])
  if (current && versionNow !== current.version) return overtaken
  if (revision !== schema.revision && !samePolicySchema(schema, await readPolicySchema(tx, tenantId)))
    return overtaken
  // Other policies can have been written after this one was measured with them.
  if (measuredAt !== null && measuredAt !== revision) return overtaken
  // A tenant above a lowered limit can still change its policies, or switch them off.
  if (own >= maxPolicies)
    throw new ApiError(409, 'limit_reached', `A tenant can have at most ${maxPolicies} policies.`)
  if (modules !== null && modules >= deps.config.LIMIT_POLICY_MODULES)
    throw tooManyModules(deps.config.LIMIT_POLICY_MODULES)
  revise(tx, tenantId)
  if (current) replacePolicy(tx, policy)
  else await insertPolicy(tx, policy)
  await insertVersion(tx, policy, plan.reason)
  await deleteOldVersions(tx, policy, deps.config.LIMIT_POLICY_VERSIONS)
  await appendEvent(tx, {
    ...causedBy(caller, at),
    type: current ? 'authorization.policy_updated' : 'authorization.policy_created',
    subject: id,
    data: { policy_id: id, version },
  })
  const row = rowOf(policy, current)
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: current ? 'policy:update' : 'policy:create',
    target: { type: 'policy', id },
    changes: changesBetween(current && auditedPolicy(current), auditedPolicy(row)),
  })
  return { row, roles: schema.roles, warnings: compiled.warnings }
}

const managedPart = ({ managed_by, managed_as, is_optional, chosen_active }: PolicyRow) => ({
  managed_by,
  managed_as,
  is_optional,
  chosen_active,
})

/** A tenant that turns an optional policy on or off has chosen, until it chooses again. */
const chosenActive = ({ is_optional, is_active, chosen_active }: PolicyRow, asked: boolean) =>
  is_optional && asked !== is_active ? asked : chosen_active
