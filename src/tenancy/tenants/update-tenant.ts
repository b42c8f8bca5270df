import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { invalidState, notFound } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { changedBranding, type LogoRow } from './branding.ts'
import { changeTenant, findTenant, isConnectionActive, type TenantRow } from './store.ts'
import { auditedTenant, type TenantChange } from './tenant-schemas.ts'

type Change = Omit<TenantChange, 'settings'> & {
  settings?: TenantChange['settings'] & { logo?: LogoRow | null }
}

/** Changes name and settings of the tenant of the path. Does nothing, and records no event, when nothing changes. */
export async function updateTenant(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  before: TenantRow,
  { body: change, ifMatch }: { body: Change; ifMatch: Versions },
): Promise<TenantRow> {
  const { tenantId, userId } = caller
  const at = clock()
  assertAmong(ifMatch, before.version)
  const { name, settings = {} } = change
  if (settings.sso === 'required' && before.settings.sso !== 'required')
    await assertCameByConnection(tx, caller, before)
  const branding = settings.branding && changedBranding(before.settings.branding, settings.branding)
  const [isChanged, tenant] = await Promise.all([
    changeTenant(tx, { id: tenantId, name, settings: { ...settings, ...(branding && { branding }) }, at }),
    findTenant(tx, tenantId, userId),
  ])
  if (!isChanged) return before
  if (!tenant) throw notFound()
  await recordChange(tx, caller, at, {
    event: 'tenant.tenant_updated',
    data: { tenant_id: tenantId },
    action: 'tenant:update',
    target: { type: 'tenant', id: tenantId },
    changes: changesBetween(auditedTenant(before), auditedTenant(tenant)),
  })
  return tenant
}

/** Throws 409 unless the caller has shown that people can sign in by a connection: else they could lock everyone out. */
async function assertCameByConnection(
  tx: Tx,
  { tenantId, auth: { session } }: Caller,
  { settings: { sso } }: TenantRow,
): Promise<void> {
  const { connection } = session
  if (connection?.tenantId === tenantId && (await isConnectionActive(tx, connection))) return
  throw invalidState('Sign in by an active connection of this tenant first, then require it.', sso)
}
