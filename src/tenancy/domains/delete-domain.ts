import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween, doneBy } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { causedBy } from '../../messages/outbox/caused-by.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { auditedDomain } from './domain-schemas.ts'
import { type DomainRow, deleteDomain } from './store.ts'

/** Deletes a locked domain. Other tenants can verify it from then on. */
export async function removeDomain(
  tx: Tx,
  { clock }: Pick<Deps, 'clock'>,
  caller: Caller,
  domain: DomainRow,
  versions: Versions,
): Promise<void> {
  assertAmong(versions, domain.version)
  const { tenantId } = caller
  const { id } = domain
  const at = clock()
  deleteDomain(tx, { tenantId, id })
  if (domain.status === 'verified')
    await appendEvent(tx, {
      ...causedBy(caller, at),
      type: 'tenant.domain_lost',
      subject: id,
      data: { domain_id: id, domain: domain.domain },
    })
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: 'domain:delete',
    target: { type: 'domain', id },
    changes: changesBetween(auditedDomain(domain), null),
  })
}
