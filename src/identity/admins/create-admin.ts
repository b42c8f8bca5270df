import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, notFound } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { listMembershipsOf, type Membership, recordEntry } from '../../tenancy/members/store.ts'
import { listTenantsNamed, type NamedTenant } from '../../tenancy/tenants/store.ts'
import { refuseWeakPassword } from '../auth/password-policy.ts'
import { findUserByEmail, type UserRow } from '../users/store.ts'
import { grantOwnership } from './grant-ownership.ts'
import { inactive } from './refused-accounts.ts'
import { secureAccount } from './secure-account.ts'

export interface AdminRequest {
  email: string
  firstName: string
  lastName: string
  /** Id, slug or name of an existing tenant, or the name of a new one. Undefined: a tenant they own, else a personal one. */
  tenant: string | undefined
  /** Called only if a new password is needed. */
  password(): Promise<string>
  /** Whether they can become an owner of an existing tenant. */
  takeOver: boolean
}

/**
 * The result. A `secured` account was registered but never verified, so another person could know its password: it got
 * a new password, and its sessions ended.
 */
export interface Admin {
  user: { id: string; email: string; outcome: 'created' | 'secured' | 'found' }
  tenant: { id: string; name: string; slug: string; outcome: 'created' | 'joined' | 'found' }
}

export type AdminDeps = Pick<Deps, 'clock' | 'config' | 'passwords' | 'sealer' | 'setUpTenant'> & {
  db: Pick<Deps['db'], 'api' | 'system'>
}

/** Events and audit rows need a tenant. */
const noTenant = () =>
  new ApiError(
    409,
    'no_tenant',
    'This address is registered, but not verified, and belongs to no tenant. Name an existing tenant: --tenant, with --yes.',
  )

const ambiguous = () =>
  new ApiError(409, 'tenant_ambiguous', 'Several tenants have this name. Give the slug or the id of one.')

const notTheirs = ({ name, slug, member_count: count }: NamedTenant) =>
  new ApiError(
    409,
    'tenant_exists',
    `The tenant ${slug} exists (${JSON.stringify(name)}, members: ${count}), and they do not own it. Add --yes to make them an owner of it, or give another name.`,
  )

/**
 * Makes a verified, active person the owner of a tenant, by the rules of registration, for an operator. Running it again
 * changes nothing. Calls must run one at a time, also for different addresses. Throws {@link ApiError} if a rule refuses.
 */
export async function createAdmin(
  deps: AdminDeps,
  requestInfo: RequestInfo,
  request: AdminRequest,
): Promise<Admin> {
  const { user, memberships, named } = await findNamed(deps, request)
  if (user && !user.is_active) throw inactive()
  const outcome = !user ? 'created' : user.email_verified_at === null ? 'secured' : 'found'
  // A stranger could have created these tenants under the unverified address, and made other people owners too.
  const trusted = outcome === 'secured' && !request.takeOver ? [] : memberships
  const owned = trusted.find((membership) => isOwned(membership) && isNamed(membership, request.tenant))
  if (!owned) assertTakeable(request, named)
  const passwordHash = outcome === 'found' ? undefined : await hashChosen(deps, request, user)
  const person = user ? { ...namesOf(user), id: user.id } : { ...request, id: timeOrderedId(deps.clock()) }
  const membershipId =
    memberships.find((membership) => membership.tenant_id === named?.id)?.membership_id ?? null
  const grant = async (): Promise<Admin['tenant']> =>
    owned
      ? { id: owned.tenant_id, name: owned.tenant_name, slug: owned.tenant_slug, outcome: 'found' }
      : grantOwnership(deps, requestInfo, {
          person,
          passwordHash: user ? undefined : passwordHash,
          named,
          membershipId,
          name: request.tenant,
        })
  // First end everything that the old password opened.
  if (outcome === 'secured') {
    const tenantId = memberships[0]?.tenant_id ?? named?.id
    if (!tenantId) throw noTenant()
    await secureAccount(deps, requestInfo, { person, passwordHash: passwordHash!, tenantId })
  }
  const tenant = await grant()
  if (outcome === 'secured') await setNextLogin(deps, tenant.id, person.id)
  return { user: { id: person.id, email: person.email, outcome }, tenant }
}

/** Otherwise the next login would enter the tenant that the stranger used last. */
const setNextLogin = ({ db, clock }: AdminDeps, tenantId: string, userId: string) =>
  asSystem(db, 'a login chooses its tenant before one is known', (tx) =>
    recordEntry(tx, { tenantId, userId, at: clock() }),
  )

const findNamed = ({ db }: AdminDeps, { email, tenant }: AdminRequest) =>
  asSystem(db, 'an operator names a person by address, and any tenant', async (tx) => {
    const user = await findUserByEmail(tx, email)
    const memberships = user ? await listMembershipsOf(tx, user.id) : []
    const [first, second] = tenant === undefined ? [] : await listTenantsNamed(tx, tenant)
    return { user, memberships, named: first ? { ...first, ambiguous: !first.is_exact && !!second } : null }
  })

const isOwned = ({ is_owner, membership_status: status }: Membership) => is_owner && status === 'active'

const isNamed = ({ tenant_id, tenant_slug, tenant_name }: Membership, name: string | undefined) =>
  name === undefined ||
  [tenant_id, tenant_slug].includes(name) ||
  tenant_name.toLowerCase() === name.toLowerCase()

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function assertTakeable(
  { tenant = '', takeOver }: AdminRequest,
  named: (NamedTenant & { ambiguous: boolean }) | null,
): void {
  if (!named && uuid.test(tenant)) throw notFound('There is no tenant with this id.')
  if (named?.ambiguous) throw ambiguous()
  if (named && !takeOver) throw notTheirs(named)
}

async function hashChosen(deps: AdminDeps, request: AdminRequest, user: UserRow | null) {
  const password = await request.password()
  const tenants = request.tenant === undefined ? [] : [request.tenant]
  refuseWeakPassword(deps, 'password', password, { ...(user ? namesOf(user) : request), tenants })
  return deps.passwords.hash(password)
}

const namesOf = ({ email, first_name: firstName, last_name: lastName }: UserRow) => ({
  email,
  firstName,
  lastName,
})
