import type { Deps } from '../../deps.ts'
import { permissionsOf } from '../../platform/access/actions.ts'
import { readAsSystem, readInTenant } from '../../platform/db/read.ts'
import { notFound } from '../../platform/errors.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { Versioned } from '../../platform/http/etag.ts'
import { listPlacesOf, type Place } from '../../tenancy/members/store.ts'
import { findUser, type UserRow } from './store.ts'
import { showUser } from './user-schemas.ts'

/** The caller's own profile: who they are, what they may here, and where else they belong. */
export function readProfile(deps: Deps, actor: Actor) {
  const { user } = actor.standing
  return profileOf(deps, actor, {
    ...user,
    first_name: user.firstName,
    last_name: user.lastName,
    is_active: user.isActive,
    email_verified: user.emailVerified,
    date_joined: user.dateJoined,
  })
}

/** The same after the person changed, which the standing of the request does not know of. */
export async function rereadProfile(deps: Deps, actor: Actor) {
  const user = await readInTenant(deps.db, actor, (read) => findUser(read, actor.userId))
  if (!user) throw notFound()
  return profileOf(deps, actor, { ...user, email_verified: user.email_verified_at !== null })
}

type Person = Omit<UserRow, 'updated_at' | 'email_verified_at'> & { email_verified: boolean }

async function profileOf({ db }: Deps, actor: Actor, user: Person) {
  const places = await readAsSystem(db, 'the memberships of a person lie in many tenants', (read) =>
    listPlacesOf(read, actor.userId),
  )
  const here = places.find((place) => place.tenant_id === actor.tenantId)
  if (!here) throw notFound()
  return new Versioned(user.version, {
    ...showUser(user),
    email_verified: user.email_verified,
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
