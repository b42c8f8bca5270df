import type { Deps } from '../../deps.ts'
import { permissionsOf } from '../../platform/access/actions.ts'
import { asSystem, inTenant } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { Versioned } from '../../platform/http/etag.ts'
import { listPlacesOf, type Place } from '../../tenancy/members/store.ts'
import { findUser } from './store.ts'
import { showUser } from './user-schemas.ts'

/** The caller's own profile: who they are, what they may here, and where else they belong. */
export async function readProfile({ db }: Deps, actor: Actor) {
  const user = await inTenant(db, actor, (tx) => findUser(tx, actor.userId))
  const places = await asSystem(db, 'the memberships of a person lie in many tenants', (tx) =>
    listPlacesOf(tx, actor.userId),
  )
  const here = places.find((place) => place.tenant_id === actor.tenantId)
  if (!user || !here) throw notFound()
  return new Versioned(user.version, {
    ...showUser(user),
    email_verified: user.email_verified_at !== null,
    mfa_enabled: actor.standing.user.mfaEnabled,
    current_tenant: brief(here),
    roles: here.roles,
    permissions: permissionsHeld(actor),
    memberships: places.map((place) => ({
      tenant: brief(place),
      roles: place.roles,
      status: place.membership_status,
    })),
  })
}

const brief = (place: Place) => ({
  id: place.tenant_id,
  name: place.tenant_name,
  slug: place.tenant_slug,
  status: place.tenant_status,
})

/** What the caller's roles permit in the tenant of the request, each once. */
export function permissionsHeld({ standing }: Actor): string[] {
  const { systemRoles = [], permissions = [] } = standing.membership ?? {}
  return [...new Set<string>([...systemRoles.flatMap(permissionsOf), ...permissions])].sort()
}
