import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { invalidField, managedByApplication, notFound } from '../../errors.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import type { Target } from '../../request/route.ts'
import { type Compiled, checksumOf } from './compile-body.ts'
import { draftOf, type NewPolicyBody, type PolicyChange } from './policy-body.ts'
import type { PolicySchema } from './policy-schema.ts'
import { findTarget, type PolicyTarget } from './read-policy.ts'
import { findVersion, kindOf, type PolicyRow } from './store.ts'
import { type Plan, planOf } from './write-policy.ts'

/** Plans a new policy. It applies from the first request after it is written. Throws 422 `policy_invalid`. */
export const planCreation = (
  deps: Deps,
  caller: Caller,
  schema: PolicySchema,
  { change_reason: reason, ...body }: NewPolicyBody,
  text: () => string,
): Promise<Plan> =>
  planOf(deps, caller, { id: timeOrderedId(deps.clock()), current: null, schema, body, reason, text })

/** Plans the next version of a policy. Members absent from the change keep their value. 409 `managed`, 412, 422. */
export async function planChange(
  deps: Deps,
  caller: Caller,
  { row, schema }: PolicyTarget,
  asked: { body: PolicyChange; ifMatch: Versions; text: () => string },
): Promise<Plan> {
  assertAmong(asked.ifMatch, row.version)
  const { change_reason: reason, kind = row.kind, ...change } = asked.body
  if (kind !== row.kind)
    throw invalidField('kind', 'The kind of a policy does not change. Make a new policy.')
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
  const body = { ...draftOf(row), ...given }
  const plan = await planOf(deps, caller, {
    id: row.id,
    current: row,
    schema,
    body,
    reason,
    text: asked.text,
  })
  assertChangeable(row, plan.compiled)
  return plan
}

/** Throws 409 `managed` for a change of a managed policy, other than turning an optional one on or off. */
function assertChangeable(row: PolicyRow, { fields, rules }: Compiled): void {
  if (row.managed_by === null) return
  const isSame = checksumOf({ ...fields, ...rules, is_active: row.is_active }) === row.checksum
  if (!isSame || (fields.is_active !== row.is_active && !row.is_optional))
    throw managedByApplication(row.managed_by, 'policy')
}

/** The policy of the path, and the earlier version to restore; `earlier` is null if there is no such version. */
type RollbackTarget = PolicyTarget & { earlier: Awaited<ReturnType<typeof findVersion>> }

/** Finds the policy of the path and a version of it; null if there is no such policy. */
export async function findRollback(
  tx: Tx,
  target: Target & { caller: Caller },
  version: number,
): Promise<RollbackTarget | null> {
  const found = await findTarget(tx, target)
  return found && { ...found, earlier: await findVersion(tx, target.caller.tenantId, found.row.id, version) }
}

/** Plans to write an earlier version again as the newest one. 404 if there is no such version; 409 `managed`. */
export async function planRollback(
  deps: Deps,
  caller: Caller,
  { row, schema, earlier }: RollbackTarget,
  { version, change_reason: reason }: { version: number; change_reason: string },
  text: () => string,
): Promise<Plan> {
  if (!earlier) throw notFound()
  if (row.managed_by !== null) throw managedByApplication(row.managed_by, 'policy')
  return planOf(deps, caller, {
    id: row.id,
    current: row,
    schema,
    body: { ...earlier.source, kind: kindOf(earlier.source) },
    reason: reason || `Back to version ${version}`,
    text,
  })
}
