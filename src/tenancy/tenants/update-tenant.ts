import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween, doneBy } from '../../platform/audit/append-audit.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Versions } from '../../platform/db/version.ts'
import { notFound } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { assertAmong } from '../../platform/http/etag.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { causedBy } from '../../platform/outbox/caused-by.ts'
import { permitTenant } from './permit-tenant.ts'
import { changeTenant, findTenant, lockTenant, type TenantRow } from './store.ts'
import { auditedTenant, type TenantChange } from './tenant-schemas.ts'

/** Changes name and settings of the tenant of the path, with one event; nothing where they are so already. */
export function updateTenant(
  { db, clock }: Deps,
  caller: Caller,
  change: TenantChange,
  versions: Versions,
): Promise<TenantRow> {
  const { tenantId, userId } = caller
  const at = clock()
  return inTenant(db, caller, async (tx) => {
    await lockTenant(tx, tenantId)
    const before = await findTenant(tx, tenantId, userId)
    if (!before) throw notFound()
    permitTenant(caller, before)
    assertAmong(versions, before.version)
    const { name, settings = {} } = change
    if (!(await changeTenant(tx, { id: tenantId, name, settings, at }))) return before
    await appendEvent(tx, {
      ...causedBy(caller, at),
      type: 'tenant.tenant_updated',
      subject: tenantId,
      data: { tenant_id: tenantId },
    })
    const tenant = await findTenant(tx, tenantId, userId)
    if (!tenant) throw notFound()
    await appendAudit(tx, {
      ...doneBy(caller, at),
      action: 'tenant:update',
      target: { type: 'tenant', id: tenantId },
      changes: changesBetween(auditedTenant(before), auditedTenant(tenant)),
    })
    return tenant
  })
}
