import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { invalidState, notFound } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { findTenant, markDeleted, type TenantRow, type TenantStatus, updateStatus } from './store.ts'
import { auditedTenant } from './tenant-schemas.ts'

// active ⇄ suspended; active or suspended → archived → active; any → deleted. A request for the present status
// succeeds and records nothing. Other code refuses requests to a closed tenant: the policies for access tokens, and
// login, refresh and switch, where a session gets tokens for the tenant.

const transitions = {
  suspend: { from: ['active'], to: 'suspended', event: 'tenant.tenant_suspended' },
  archive: { from: ['active', 'suspended'], to: 'archived', event: 'tenant.tenant_archived' },
  activate: { from: ['suspended', 'archived'], to: 'active', event: 'tenant.tenant_activated' },
} as const satisfies Record<string, { from: TenantStatus[]; to: TenantStatus; event: string }>

/** Changes the status of the tenant of the path. 409 `invalid_state` when its present status does not allow that. */
export async function changeStatus(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  before: TenantRow,
  verb: keyof typeof transitions,
): Promise<TenantRow> {
  const { tenantId, userId } = caller
  const { from, to, event } = transitions[verb]
  const at = clock()
  const changed = await updateStatus(tx, { id: tenantId, from, to, at })
  const tenant = await findTenant(tx, tenantId, userId)
  if (!tenant) throw notFound()
  if (tenant.status !== to)
    throw invalidState(`A tenant that is ${tenant.status} cannot be ${to}.`, tenant.status)
  if (!changed) return tenant
  await recordChange(tx, caller, at, {
    event: event,
    data: { tenant_id: tenantId },
    action: `tenant:${verb}`,
    target: { type: 'tenant', id: tenantId },
    changes: changesBetween(auditedTenant(before), auditedTenant(tenant)),
  })
  return tenant
}

/** Deletes the tenant of the path. It disappears for all at once, and from the database after at least 30 days. */
export async function deleteTenant(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  tenant: TenantRow,
  versions: Versions,
): Promise<void> {
  const { tenantId } = caller
  const at = clock()
  assertAmong(versions, tenant.version)
  if (!(await markDeleted(tx, { id: tenantId, at }))) throw notFound()
  await recordChange(tx, caller, at, {
    event: 'tenant.tenant_deleted',
    data: { tenant_id: tenantId },
    action: 'tenant:delete',
    target: { type: 'tenant', id: tenantId },
    changes: changesBetween(auditedTenant(tenant), null),
  })
}
