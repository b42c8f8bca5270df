import { readInTenant } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import { notFound } from '../../errors.ts'
import { permissionsOf } from '../../policy-engine/catalogue/actions.ts'
import { namesOnlyApplicationActions } from '../../policy-engine/catalogue/application-actions.ts'
import { Versioned } from '../../request/answer/etag.ts'
import { type Caller, confinedTo } from '../../request/caller.ts'
import { listOwnMemberships, type OwnMembership } from '../../tenancy/members/store.ts'
import { holderOf, holds } from '../../tenancy/roles/grantable-roles.ts'
import type { TenantRow } from '../../tenancy/tenants/store.ts'
import { findProfile, type ProfileRow } from './store.ts'
import { toJsonUser } from './user-schemas.ts'

/**
 * The caller's own profile: the person, their permissions in this tenant, and their memberships. A key, and a session by a
 * connection, act in one tenant alone, so they read the membership there only.
 */
export function showProfile(caller: Caller, all: readonly OwnMembership[]) {
  const { user } = caller.auth
  const isBound = caller.token === 'key' || confinedTo(caller) !== null
  const memberships = isBound ? all.filter((one) => one.tenant_id === caller.tenantId) : all
  const person = {
    ...user,
    first_name: user.firstName,
    last_name: user.lastName,
    is_active: user.isActive,
    email_verified: user.emailVerified,
    date_joined: user.dateJoined,
  }
  return profileOf(caller, person, memberships)
}

/** The person that an application acts for, as far as its scopes go, in the tenant of the token. */
export function showGranted({ auth, tenantId }: Caller, all: readonly OwnMembership[]) {
  const { user, membership, scopes } = auth
  const here = all.find((one) => one.tenant_id === tenantId)
  if (!here || !scopes) throw notFound()
  return new Versioned(user.version, {
    id: user.id,
    ...(scopes.includes('email') && { email: user.email, email_verified: user.emailVerified }),
    ...(scopes.includes('profile') && {
      first_name: user.firstName,
      last_name: user.lastName,
      locale: user.locale,
      zoneinfo: user.zoneinfo,
    }),
    current_tenant: brief(here),
    roles: membership?.roles ?? [],
    scopes: [...scopes],
  })
}

/** The same after a change of the person, which the request's auth context does not include. */
export async function rereadProfile(deps: Pick<Deps, 'db'>, caller: Caller) {
  const [user, memberships] = await readInTenant(deps.db, caller, (read) =>
    Promise.all([findProfile(read, caller.userId), listOwnMemberships(read)]),
  )
  if (!user) throw notFound()
  return profileOf(caller, { ...user, email_verified: user.email_verified_at !== null }, memberships)
}

type Person = Omit<ProfileRow, 'updated_at' | 'email_verified_at'> & { email_verified: boolean }

function profileOf(caller: Caller, user: Person, memberships: readonly OwnMembership[]) {
  const here = memberships.find((membership) => membership.tenant_id === caller.tenantId)
  if (!here) throw notFound()
  return new Versioned(user.version, {
    ...toJsonUser(user),
    email_verified: user.email_verified,
    locale: user.locale,
    zoneinfo: user.zoneinfo,
    mfa_enabled: caller.auth.user.mfaEnabled,
    current_tenant: brief(here),
    roles: here.roles,
    permissions: permissionsShown(caller),
    impersonator: caller.impersonator,
    key: caller.token === 'key' ? usedKey(caller) : null,
    // Who acts as the person sees nothing of their other tenants.
    memberships: (caller.impersonator ? [here] : memberships).map((membership) => ({
      tenant: brief(membership),
      roles: membership.roles,
      status: membership.membership_status,
    })),
  })
}

const brief = (membership: OwnMembership) => ({
  id: membership.tenant_id,
  name: membership.tenant_name,
  slug: membership.tenant_slug,
  status: membership.tenant_status,
})

/** What a service account reads of itself, with its key or as a machine. */
export function showAccountProfile(caller: Caller, { id, name, slug, status }: TenantRow) {
  const { auth } = caller
  return new Versioned(auth.user.version, {
    id: caller.userId,
    type: 'service_account' as const,
    name: auth.user.firstName,
    current_tenant: { id, name, slug, status },
    roles: auth.membership?.roles ?? [],
    permissions: permissionsShown(caller),
    key: caller.token === 'key' ? usedKey(caller) : null,
  })
}

/** The key of the request. An application that gets a key of the service's own permissions could use it here. */
const usedKey = ({ sessionId: id, auth: { scopes } }: Caller) => ({
  id,
  scopes: scopes && [...scopes],
  application_only: scopes?.every(namesOnlyApplicationActions) ?? false,
})

/** The permissions of the caller's roles in the tenant of the request, each once, within the scopes of a key. */
function permissionsShown(caller: Caller): string[] {
  const { systemRoles = [], permissions = [] } = caller.auth.membership ?? {}
  const named = [...new Set([...systemRoles.flatMap(permissionsOf), ...permissions])].sort()
  const holder = holderOf(caller)
  return holder.scopes ? named.filter((permission) => holds(holder, permission)) : named
}
