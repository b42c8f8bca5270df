import type { Actor } from '../../platform/http/actor.ts'
import type { TenantRow } from './store.ts'
import { showTenant } from './tenant-schemas.ts'

/** Decides the action of the request about this tenant, as it is before; throws 403. */
export const permitTenant = (actor: Actor, tenant: TenantRow): void =>
  actor.permit({ type: 'tenant', id: tenant.id, fields: showTenant(tenant) })
