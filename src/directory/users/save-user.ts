import { isDeepStrictEqual } from 'node:util'
import { inTenant, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, notFound } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { overtaken } from '../../request/route.ts'
import { cancelInvitationTo } from '../../tenancy/invitations/cancel-invitation.ts'
import { nameMember } from '../../tenancy/members/name-member.ts'
import { isNameOfAnother } from '../../tenancy/members/subject-store.ts'
import { assertDomainAllowed } from '../../tenancy/tenants/email-domains.ts'
import { findTenant } from '../../tenancy/tenants/store.ts'
import { mutability, uniqueness } from '../scim-error.ts'
import { changeStatus } from './change-status.ts'
import { describeMember, factsOf } from './describe-member.ts'
import type { Account } from './find-account.ts'
import { joinUser } from './join-user.ts'
import { findTaken, findUser, hasPending, storeUser, type TakenBy, type UserRow } from './store.ts'
import { type Described, describeUser, isActive, resourceOf, wasSentActive } from './user-resource.ts'

const maxPending = 10_000

/**
 * Makes a User and gives its row. The transaction must hold the tenant's lock. 409 `uniqueness` and `limit_reached`, and what `joinUser`
 * throws; `overtaken` as there.
 */
export async function createUser(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  user: Described,
  account: Account | null,
): Promise<UserRow | typeof overtaken> {
  const { tenantId } = caller
  const at = deps.clock()
  const id = timeOrderedId(at)
  await assertFree(tx, { tenantId, id, ...user })
  const joined = await joinUser(tx, deps, caller, id, user, account)
  if (joined === overtaken) return overtaken
  const { isMember, madeUserId } = joined
  if (!isMember && (await hasPending(tx, tenantId, maxPending)))
    throw new ApiError(
      409,
      'limit_reached',
      `At most ${maxPending} Users of a tenant can wait for a membership.`,
    )
  storeUser(tx, { ...user, tenantId, id, isPending: !isMember, madeUserId, at })
  await recordUser(tx, caller, at, {
    event: 'directory.user_created',
    id,
    isMember,
    before: null,
    after: user,
  })
  return readUser(tx, tenantId, id)
}

/**
 * Changes a User to what a directory says, and gives its row. The transaction must hold the tenant's lock. 409 `uniqueness` and
 * `mutability`, 403 where a policy denies the service account to change members, and what `joinUser` throws; `overtaken` as there.
 */
export async function changeUser(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  row: UserRow,
  said: Described,
  account: Account | null,
): Promise<UserRow | typeof overtaken> {
  const { tenantId } = caller
  const { id, user_id: userId } = row
  const at = deps.clock()
  const before = describeUser(resourceOf(row))
  // What waits to be done: a membership to make, or to describe since an invitation was accepted.
  const isWaiting = userId === null ? account !== null : row.is_pending === true
  if (isDeepStrictEqual(before, said) && !isWaiting) return row
  const ends = userId !== null && !said.active && wasSentActive(row)
  // No fault of the rest keeps a directory from suspending a member.
  const isKept = ends && (await hasFault(tx, tenantId, row, before, said))
  const user = isKept ? { ...before, active: false } : said
  await assertFree(tx, { tenantId, id, ...(userId === null ? user : changedNames(before, user)) })
  if (userId === null && before.email !== null && (before.email !== user.email || !user.active))
    await cancelInvitationTo(tx, caller, { userId: id, email: before.email }, at)
  if (userId !== null) {
    const fields = { email: row.email, user_id: userId, status: row.status, external_id: row.external_id }
    if (caller.denies('member:update', { type: 'member', id, ownerId: userId, fields }))
      throw new ApiError(403, 'permission_denied', 'A policy denies the directory member:update.')
    if (user.externalId !== row.external_id) {
      assertOwnName(row)
      await nameMember(tx, { tenantId, memberId: id, externalId: user.externalId }, () =>
        uniqueness('Another member has this externalId, or it is their id or address.'),
      )
    }
    const described = row.is_pending && !isKept ? null : before.document
    await describeMember(tx, caller, id, { before: described, after: user.document }, at)
    if (user.active !== isActive(row)) await changeStatus(tx, caller, row, user.active, at)
  }
  const joined = userId === null ? await joinUser(tx, deps, caller, id, user, account) : null
  if (joined === overtaken) return overtaken
  const isMember = userId !== null || joined?.isMember === true
  const madeUserId = row.made_user_id ?? joined?.madeUserId ?? null
  const externalId = user.externalId === row.external_id ? row.sent_external_id : user.externalId
  const isPending = !isMember || (isKept && row.is_pending === true)
  storeUser(tx, { ...user, tenantId, id, externalId, isPending, madeUserId, at })
  await recordUser(tx, caller, at, { event: 'directory.user_updated', id, isMember, before, after: user })
  return readUser(tx, tenantId, id)
}

/** The names of a User that differ from those before. Others of the same name came later, and keep nothing from changing. */
const changedNames = (before: Described, { userName, email, externalId }: Described) => ({
  userName: userName === before.userName ? null : userName,
  email: email === before.email ? null : email,
  externalId: externalId === before.externalId ? null : externalId,
})

/** Whether a name or a value that a directory says of a member would be refused. */
async function hasFault(tx: Tx, tenantId: string, row: UserRow, before: Described, said: Described) {
  const { id } = row
  const { externalId, document } = said
  try {
    await assertFree(tx, { tenantId, id, ...changedNames(before, said) })
    if (externalId !== row.external_id) assertOwnName(row)
    await factsOf(tx, tenantId, id, document)
    return externalId !== null && (await isNameOfAnother(tx, tenantId, id, externalId))
  } catch (error) {
    if (error instanceof ApiError) return true
    throw error
  }
}

/** Throws 409 `mutability` for a name that a person gave: applications ask for the member by it. */
function assertOwnName({ external_id, sent_external_id }: UserRow): void {
  if (external_id !== null && external_id !== sent_external_id)
    throw mutability('An administrator gave this member another external_id, and only they can change it.')
}

async function readUser(tx: Tx, tenantId: string, id: string): Promise<UserRow> {
  const user = await findUser(tx, tenantId, id)
  if (!user) throw notFound()
  return user
}

/** Throws 400 for a domain that the tenant does not accept, and 409 `uniqueness`, before anything is done to the account. */
export async function assertCanJoin(
  { db }: Deps,
  caller: Caller,
  user: Described & { id: string; email: string },
): Promise<void> {
  const { tenantId, userId } = caller
  await inTenant(db, caller, async (tx) => {
    const [tenant] = await Promise.all([
      findTenant(tx, tenantId, userId),
      assertFree(tx, { tenantId, ...user }),
    ])
    if (!tenant) throw notFound()
    assertDomainAllowed(tenant.settings.allowed_email_domains, user.email, 'emails')
  })
}

/** Throws 409 `uniqueness` if another User has the name, the address or the `externalId`; null is not compared. */
export async function assertFree(
  tx: Tx,
  { tenantId, id, userName, email, externalId }: TakenBy,
): Promise<void> {
  const taken = await findTaken(tx, { tenantId, id, userName, email, externalId })
  if (!taken) return
  if (taken.id === null) throw uniqueness('A member claims this address and has not proven it.')
  throw uniqueness(`The User ${taken.id} has this ${taken.what}.`)
}

const audited = (user: Described | null) =>
  user && {
    user_name: user.userName,
    display_name: user.displayName,
    email: user.email,
    external_id: user.externalId,
    active: user.active,
  }

interface Recorded {
  event: 'directory.user_created' | 'directory.user_updated' | 'directory.user_deleted'
  id: string
  isMember: boolean
  before: Described | null
  after: Described | null
}

/** Records a change of a User; that of its membership is recorded apart. */
export const recordUser = (
  tx: Tx,
  caller: Caller,
  at: number,
  { event, id, isMember, before, after }: Recorded,
): Promise<void> =>
  recordChange(tx, caller, at, {
    event,
    data: { directory_user_id: id, membership_id: isMember ? id : null },
    action: 'scim:provision',
    target: { type: 'directory_user', id },
    changes: changesBetween(audited(before), audited(after)),
  })
