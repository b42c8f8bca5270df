import { readInTenant } from '../database/executor/read.ts'
import { asSystem } from '../database/executor/transaction.ts'
import { isCounting } from '../identity/sessions/counting-factor.ts'
import { checkWay } from '../identity/sign-in/way-in.ts'
import type { PageDeps } from '../pages/sign-in/calls.ts'
import type { AuthContext } from '../request/caller.ts'
import { listNamesDownTo } from '../tenancy/departments/store.ts'
import { isOwner } from '../tenancy/roles/grantable-roles.ts'
import type { OwnClient } from './client-metadata.ts'
import type { GrantAuth } from './provider-types.ts'

/** Whose session is asked, and where. */
interface Holder {
  tenantId: string
  userId: string
  sessionId: string
}

/** The person of a session who may be in a tenant now; null if the session, the membership or the tenant is over. */
export async function livePerson(deps: PageDeps, holder: Holder): Promise<AuthContext | null> {
  const bearer = {
    ...holder,
    familyId: null,
    token: 'access',
    subjectType: 'user',
    impersonatorId: undefined,
  } as const
  return livingOf(await readInTenant(deps.db, holder, (read) => deps.loadAuthContext(read, bearer)))
}

/** Accounts have no session, and owners can do without a connection by password and second factor. */
const breaksGlass = ({ user, session, membership }: AuthContext): boolean =>
  user.type === 'service_account' ||
  (membership !== null && isOwner(membership) && session.acr === 'aal2' && session.amr.includes('pwd'))

/** The same for a person who was read. */
export function livingOf(auth: AuthContext | null): AuthContext | null {
  if (!auth?.user.isActive || auth.session.over || auth.session.overHere) return null
  const { connection } = auth.session
  if (connection !== null && connection.tenantId !== auth.tenant?.id) return null
  if (auth.tenant?.requireSso && connection === null && !breaksGlass(auth)) return null
  return auth.membership?.status === 'active' && auth.tenant?.status === 'active' ? auth : null
}

/**
 * Whether the way in which a session began still lets its person in: its connection with what they may do by now, and without one, where
 * the tenant requires sso, an owner's second factor of a day.
 */
export async function isWayOpen(
  deps: PageDeps,
  { user, session, tenant, membership }: AuthContext,
): Promise<boolean> {
  const { connection, amr } = session
  if (connection === null && (user.type === 'service_account' || !tenant?.requireSso)) return true
  if (!tenant || !membership) return false
  const entered = {
    tenant_id: tenant.id,
    membership_id: membership.id,
    is_owner: isOwner(membership),
    requires_sso: tenant.requireSso,
  }
  const way = await asSystem(deps.db, 'what the activator of a connection held is not for the API', (tx) =>
    checkWay(deps, tx, { userId: user.id, connection, membership: entered, amr }),
  )
  return way.kind === 'open'
}

/**
 * Whether what a person had shown for a grant is still enough. Who was removed and is a member again authorizes anew, and so
 * does who showed no second factor where the tenant demands one by now.
 */
export const isStill = (
  { membershipId, acr, amr }: GrantAuth,
  { membership, tenant }: AuthContext,
): boolean =>
  membership?.id === membershipId &&
  (!tenant?.requireMfa || (acr === 'aal2' && isCounting(amr, { isOwner: isOwner(membership) })))

/** The claims that each scope gives (OpenID Connect Core §5.4). */
export const claimsOfScopes = {
  openid: ['sub', 'sid', 'auth_time', 'acr', 'amr', 'tenant_id'],
  profile: ['name', 'given_name', 'family_name', 'locale', 'zoneinfo'],
  email: ['email', 'email_verified'],
  roles: ['roles'],
  groups: ['groups'],
  organization: ['organization'],
}

/** The claims about a person in the tenant of a client, with what they had shown when they authorized it. */
export async function claimsOf(
  deps: PageDeps,
  { user, tenant, membership }: AuthContext,
  { client, auth, scopes }: { client: OwnClient; auth: GrantAuth; scopes: ReadonlySet<string> },
) {
  const { tenantId, groups } = client
  const roles = membership?.roles ?? []
  const wantsPath = scopes.has('groups') && groups !== 'roles' && groups !== null
  const departmentId = wantsPath ? (membership?.departmentId ?? null) : null
  const scope = { tenantId, userId: user.id }
  const path = departmentId && (await pathOf(deps, scope, departmentId))
  return {
    sub: user.id,
    sid: auth.sid,
    auth_time: auth.authTime || undefined, // a provider did not say when
    acr: auth.acr,
    amr: [...auth.amr],
    tenant_id: tenant?.id,
    name: `${user.firstName} ${user.lastName}`.trim() || undefined,
    given_name: user.firstName || undefined,
    family_name: user.lastName || undefined,
    locale: user.locale ?? undefined,
    zoneinfo: user.zoneinfo ?? undefined,
    email: user.email,
    email_verified: user.emailVerified,
    roles,
    groups: [...(groups === 'departments' ? [] : roles), ...(path ? [path] : [])],
    organization: client.tenant,
  }
}

/** A department with those above it, as `/Sales/EMEA`: no role is called so. A `/` in a name is `%2F`. */
async function pathOf(
  { db }: PageDeps,
  scope: { tenantId: string; userId: string },
  departmentId: string,
): Promise<string> {
  const names = await readInTenant(db, scope, (read) => listNamesDownTo(read, scope.tenantId, departmentId))
  return names.map((name) => `/${name.replaceAll('/', '%2F')}`).join('')
}
