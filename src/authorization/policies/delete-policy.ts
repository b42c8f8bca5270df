import type { Tx } from '../../database/executor/transaction.ts'
import { revise } from '../../database/revisions.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { managedByApplication, notFound } from '../../errors.ts'
import { appendAudit, changesBetween, doneBy } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { causedBy } from '../../messages/outbox/caused-by.ts'
import { assertAmong, preconditionFailed } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { auditedPolicy } from './policy-body.ts'
import type { PolicyTarget } from './read-policy.ts'
import { deletePolicy } from './store.ts'

/** Deletes a policy; 409 `managed`. The next request is decided without it. Its versions are kept for a time to explain past decisions. */
export async function removePolicy(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  { row }: PolicyTarget,
  ifMatch: Versions,
): Promise<void> {
  const { tenantId } = caller
  const { id } = row
  assertAmong(ifMatch, row.version)
  if (row.managed_by !== null) throw managedByApplication(row.managed_by, 'policy')
  const at = deps.clock()
  revise(tx, tenantId)
  const version = await deletePolicy(tx, tenantId, id, ifMatch, at)
  // It was changed or deleted after it was loaded.
  if (version === null) throw ifMatch ? preconditionFailed() : notFound()
  await appendEvent(tx, {
    ...causedBy(caller, at),
    type: 'authorization.policy_deleted',
    subject: id,
    data: { policy_id: id, version },
  })
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: 'policy:delete',
    target: { type: 'policy', id },
    changes: changesBetween(auditedPolicy(row), null),
  })
}
