import type { Caller } from '../../platform/http/caller.ts'
import type { TenantRow } from './store.ts'
import { showTenant } from './tenant-schemas.ts'

/** Decides the action of the request about this tenant, as it is before; throws 403. */
export const permitTenant = (caller: Caller, tenant: TenantRow): void =>
  caller.permit({ type: 'tenant', id: tenant.id, fields: showTenant(tenant) })
