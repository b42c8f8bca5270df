import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { Versions } from '../../platform/db/version.ts'
import { notFound } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { assertAmong } from '../../platform/http/etag.ts'
import type { Target } from '../../platform/http/route.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { draftOf, type NewPolicyBody, type PolicyChange } from './policy-body.ts'
import type { PolicySchema } from './policy-schema.ts'
import { findTarget, type PolicyTarget } from './read-policy.ts'
import { findVersion } from './store.ts'
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

/** Plans the next version of a policy. Members absent from the change keep their value. 412 without a match, 422. */
export async function planChange(
  deps: Deps,
  caller: Caller,
  { row, schema }: PolicyTarget,
  asked: { body: PolicyChange; ifMatch: Versions; text: () => string },
): Promise<Plan> {
  assertAmong(asked.ifMatch, row.version)
  const { change_reason: reason, kind: _kind, ...change } = asked.body
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
  const body = { ...draftOf(row), ...given }
  return planOf(deps, caller, { id: row.id, current: row, schema, body, reason, text: asked.text })
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

/** Plans to write an earlier version again as the newest one. 404 if there is no such version. */
export async function planRollback(
  deps: Deps,
  caller: Caller,
  { row, schema, earlier }: RollbackTarget,
  { version, change_reason: reason }: { version: number; change_reason: string },
  text: () => string,
): Promise<Plan> {
  if (!earlier) throw notFound()
  return planOf(deps, caller, {
    id: row.id,
    current: row,
    schema,
    body: { ...earlier.source, kind: 'json' },
    reason: reason || `Back to version ${version}`,
    text,
  })
}
