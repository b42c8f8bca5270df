import { nilUuid } from '../crypto/uuid.ts'
import { inTenant, type Tx } from '../database/executor/transaction.ts'
import { lockTenant } from '../database/revisions.ts'
import type { Deps } from '../deps.ts'
import { ApiError } from '../errors.ts'
import type { RequestInfo } from '../http/request-info.ts'
import type { KnownIdentity } from '../identity/federated/store.ts'
import type { Person } from '../identity/sign-in/create-own-tenant.ts'
import { orThrow } from '../identity/sign-in/outcome.ts'
import { checkWay } from '../identity/sign-in/way-in.ts'
import { makeVouchedPerson } from '../identity/users/make-vouched-person.ts'
import { findUser, findUserByEmail } from '../identity/users/store.ts'
import type { Connection } from '../request/caller.ts'
import { findVoucher } from '../tenancy/domains/store.ts'
import { findRequestedRoles, joinMember } from '../tenancy/members/add-member.ts'
import { findMemberId, lockPerson, type Person as WholePerson } from '../tenancy/members/person-store.ts'
import { listMembershipsOf } from '../tenancy/members/store.ts'
import { firstExcess } from '../tenancy/roles/grantable-roles.ts'
import { listRolesById, listRolesNamed, type RoleRow } from '../tenancy/roles/store.ts'
import { isDomainAllowed } from '../tenancy/tenants/email-domains.ts'
import { applyMapping, givenBy } from './apply-mapping.ts'
import { findJoining, hasRolesBy, holdGiving, type Joining } from './connections/joining-store.ts'
import { isDeniedToJoin } from './may-join.ts'
import type { Found, Said, SettleAsked } from './settle.ts'
import type { Upstream } from './upstream.ts'

/** An upstream as the connection that it is; null: a provider of the installation. */
export const connectionOf = ({ id, tenantId }: Pick<Upstream, 'id' | 'tenantId'>): Connection | null =>
  tenantId === null ? null : { id, tenantId }

/** When the provider saw a second factor, in ms since 1970; null: it saw none, or did not say when. */
export const mfaAtOf = ({ amr, authTime }: Said, at: number): number | null =>
  amr.includes('mfa') && authTime !== null ? Math.min(authTime, at) : null

/** How the person whom a connection names stands in its tenant. */
export interface Standing {
  connection: Connection
  joining: Joining
  /** Null: they are to become a member. */
  memberId: string | null
  /** What they get as a new member. */
  roles: readonly RoleRow[]
  departmentId: string | null
  /** The tenant cannot say whose the address is: its mailbox gets an invitation. */
  isInvited: boolean
  /** The mapping gives them something, or did. */
  isMapped: boolean
}

/**
 * Whom a connection names: the member to whom the identity is linked, else the member with the address, if the tenant can say whose the
 * address is. With `jit` also a person with such an address who is no member; for another address, no one, but it gets an invitation. A
 * borrowed domain says nothing of an account that did not prove its address. Refuses everyone else with 403 `sign_in_refused`, so that a tenant that controls its provider reaches no one
 * beyond its domains, and throws what refuses the member ({@link checkWay}), before anything is linked. As the system role.
 */
export async function findByConnection(
  deps: Deps,
  tx: Tx,
  connection: Connection,
  said: Said,
  known: KnownIdentity | null,
): Promise<Found> {
  const { tenantId } = connection
  const { email } = said
  const [joining, voucher] = await Promise.all([
    findJoining(tx, connection),
    email === null ? null : findVoucher(tx, tenantId, email),
  ])
  if (!joining) throw signInRefused(notActive)
  const account = known ? await findUser(tx, known.user_id) : voucher && (await findUserByEmail(tx, email!))
  if (!known && voucher === 'borrower' && account?.email_verified_at === null) throw signInRefused(noMember)
  const membership =
    account && (await listMembershipsOf(tx, account.id)).find((one) => one.tenant_id === tenantId)
  const found = { known, account, waitsFor: null }
  if (membership) {
    if (membership.membership_status !== 'active') throw signInRefused(noMember)
    const { membership_id: memberId } = membership
    const entering = { userId: account.id, connection, membership, amr: ['fed'] }
    orThrow(await checkWay(deps, tx, entering))
    const isMapped = joining.mapping.length > 0 || (await hasRolesBy(tx, connection, memberId))
    const standing = {
      connection,
      joining,
      memberId,
      roles: [],
      departmentId: null,
      isInvited: false,
      isMapped,
    }
    return { ...found, standing }
  }
  const isOther = voucher !== null && account && account.email !== email
  if (email === null) throw signInRefused(noAddress)
  if (isOther || !canBring(joining, email)) throw signInRefused(noMember)
  const plain = await listRolesNamed(tx, tenantId, ['member'])
  if (firstExcess(joining.activator, plain)) throw signInRefused('Its activator could add no member.')
  const isMapped = joining.mapping.length > 0
  const standing = { connection, joining, memberId: null, roles: plain, departmentId: null, isMapped }
  if (voucher === null)
    return { known: null, account: null, waitsFor: null, standing: { ...standing, isInvited: true } }
  const given = await givenBy(joining, said, (ids) => listRolesById(tx, tenantId, ids))
  const { departmentId } = given
  const roles = [...plain, ...given.roles]
  return { ...found, standing: { ...standing, roles, departmentId, isInvited: false } }
}

/** Whether people with this address can become members by a connection. */
const canBring = ({ jit, tenant_status, allowed_email_domains }: Joining, email: string) =>
  jit === 'verified_domains' && tenant_status === 'active' && isDomainAllowed(allowed_email_domains, email)

/** Throws 403 `sign_in_refused` where a policy denies a person to become a member, before anything is stored. */
export async function assertMayJoin(
  deps: Deps,
  { connection, joining, memberId, roles, departmentId }: Standing,
  { userId, email }: { userId: string | null; email: string },
  requestInfo: RequestInfo,
): Promise<void> {
  if (memberId !== null) return
  const joiner = {
    connection,
    joining,
    userId: userId ?? nilUuid,
    email,
    roles,
    departmentId,
    requestInfo,
  }
  if (await isDeniedToJoin(deps, 'member:create', joiner))
    throw signInRefused('A policy denies this person member:create.')
}

/** Makes a person whom a connection names, with no tenant of their own, and a member; null if the address has an account by now. */
export function makeMember(
  deps: Deps,
  standing: Standing,
  { said, requestInfo }: SettleAsked,
): Promise<{ id: string; tenantId: string } | null> {
  const { tenantId } = standing.connection
  const at = deps.clock()
  return inTenant(deps.db, { tenantId, userId: nilUuid }, async (tx) => {
    const { firstName, lastName } = said
    const made = { email: said.email!, firstName, lastName, tenantId, voucher: null, requestInfo, at }
    const person = await makeVouchedPerson(tx, made)
    if (!person) return null
    await enter(tx, deps, standing, { said, requestInfo, at, person: { ...person, isNew: true } })
    return { id: person.id, tenantId }
  })
}

/** Makes the person of an account a member, or applies the mapping to the member who they are. */
export async function enterByConnection(
  deps: Deps,
  standing: Standing,
  { id }: Person,
  { said, requestInfo }: SettleAsked,
): Promise<void> {
  const { tenantId } = standing.connection
  if (standing.memberId !== null && !standing.isMapped) return
  const at = deps.clock()
  await inTenant(deps.db, { tenantId, userId: id }, (tx) =>
    enter(tx, deps, standing, { said, requestInfo, at, person: { id, isNew: false } }),
  )
}

interface Entering {
  said: Said
  person: (WholePerson & { isNew: true }) | { id: string; isNew: false }
  requestInfo: RequestInfo
  at: number
}

async function enter(tx: Tx, deps: Deps, standing: Standing, entering: Entering): Promise<void> {
  const { connection } = standing
  const giving = await holdGiving(tx, connection)
  if (!giving) throw signInRefused(notActive)
  let { memberId } = standing
  if (memberId === null) {
    if (giving.jit !== 'verified_domains') throw signInRefused(noMember)
    memberId = await join(tx, deps, standing, entering)
  }
  const { person, said, requestInfo, at } = entering
  const applied = { connection, giving, memberId, userId: person.id, said, requestInfo, at }
  if (standing.isMapped) await applyMapping(tx, applied)
}

/** Makes a person a member, once, and mails those who had an account. */
async function join(
  tx: Tx,
  deps: Deps,
  { connection: { tenantId }, joining }: Standing,
  { person, requestInfo, at }: Entering,
): Promise<string> {
  await lockTenant(tx, tenantId)
  const { id } = person
  const joined = person.isNew ? null : await findMemberId(tx, tenantId, id)
  if (joined !== null) return joined
  const user = person.isNew ? person : await lockPerson(tx, id)
  const roles = await findRequestedRoles(tx, tenantId, ['member'])
  // The audit log names the person, and the mail the connection.
  const asUser = { email: user.email, emailVerified: false, firstName: joining.name, lastName: '' }
  const joiner = { tenantId, userId: id, requestInfo, auth: { user: asUser } }
  const mailsAs = person.isNew ? null : joining.tenant_name
  const member = { id: null, user, roles, externalId: null, mailsAs, at }
  return (await joinMember(tx, deps, joiner, member)).id
}

const notActive = 'The connection is not active any more.'

// The same for every person who is not an active member: it says nothing of accounts elsewhere.
const noMember =
  'No active member is linked to this account, or has its address proved, in a verified domain of this tenant.'

const noAddress =
  'No active member is linked to this account, and the provider names no address, or marks it as unverified.'

/** `reason`: a sentence for those who look after a connection. */
export const signInRefused = (reason?: string) =>
  new ApiError(403, 'sign_in_refused', 'This account cannot sign in with this provider.', { cause: reason })
