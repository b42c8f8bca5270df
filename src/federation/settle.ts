import { unusableHash } from '../crypto/passwords.ts'
import { asSystem, type Tx } from '../database/executor/transaction.ts'
import type { Deps } from '../deps.ts'
import { ApiError } from '../errors.ts'
import type { RequestInfo } from '../http/request-info.ts'
import { finishPasswordChange } from '../identity/auth/finish-password-change.ts'
import { findRecipient, logOfReader } from '../identity/auth/mail-account-link.ts'
import { recordVerified } from '../identity/email-verification/record-verified.ts'
import { linkIdentity } from '../identity/federated/link-identity.ts'
import { makePerson } from '../identity/federated/make-person.ts'
import {
  findIdentity,
  hasOtherSubject,
  type KnownIdentity,
  noteAddress,
} from '../identity/federated/store.ts'
import { registerUses, signInUses } from '../identity/rate-limits/limits.ts'
import { createFreshTenant, type Person } from '../identity/sign-in/create-own-tenant.ts'
import { type FactorDue, type Opened, orThrow } from '../identity/sign-in/outcome.ts'
import { signIn } from '../identity/sign-in/sign-in.ts'
import { markProven } from '../identity/users/address-store.ts'
import { proveByMailbox } from '../identity/users/prove-by-mailbox.ts'
import { findUser, findUserByEmail, lockUser, type UserRow } from '../identity/users/store.ts'
import { stateNotValid } from './flows.ts'
import { inviteInstead } from './invite-by-connection.ts'
import {
  assertMayJoin,
  connectionOf,
  enterByConnection,
  findByConnection,
  makeMember,
  mfaAtOf,
  type Standing,
  signInRefused,
} from './join-by-connection.ts'
import { finishFlow } from './store.ts'
import type { Asserted, Upstream } from './upstream.ts'

/** What counts of the word of an upstream. */
export type Said = Pick<
  Asserted,
  | 'issuer'
  | 'attribute'
  | 'subject'
  | 'email'
  | 'isAuthority'
  | 'firstName'
  | 'lastName'
  | 'amr'
  | 'authTime'
  | 'claims'
>

/** What has to come before a session. */
export type WaitsFor = 'mail' | 'address' | 'person'

export interface SettleAsked {
  flowId: string
  upstream: Pick<Upstream, 'id' | 'name' | 'tenantId'>
  said: Said
  /** The account that this flow made, whose address only a mail can prove. */
  madeId: string | null
  /** Who is signed in in the browser; null: no one, or the person said that they want to replace them. */
  hereId: string | null
  requestInfo: RequestInfo
}

const reason = 'a sign-in with another provider finds its person'

/**
 * Whose account it is that an upstream names: docs/explanation/federation.md has the table. Signs in, once, or says what has to come
 * first; then nothing is stored. `hasJoined`: by a connection, as a new member. Throws 400 `state_not_valid` for a flow that ended, 403 `sign_in_refused` and those of a sign-in,
 * 409 `overtaken`, 429 `throttled`.
 */
export async function settle(
  deps: Deps,
  asked: SettleAsked,
): Promise<((Opened | FactorDue) & { hasJoined: boolean }) | { kind: 'held'; waitsFor: WaitsFor }> {
  const { flowId, upstream, said, hereId, requestInfo } = asked
  const connection = connectionOf(upstream)
  const { known, account, waitsFor, standing } = await asSystem(deps.db, reason, async (tx) => {
    const known = await findIdentity(tx, { ...said, provider: upstream.id })
    return connection ? findByConnection(deps, tx, connection, said, known) : findByProvider(tx, said, known)
  })
  if (waitsFor) return { kind: 'held', waitsFor }
  if (standing?.isInvited) throw await inviteInstead(deps, standing, said.email!, requestInfo)
  if (hereId !== null && hereId !== account?.id) return { kind: 'held', waitsFor: 'person' }
  if (account?.is_active === false) throw signInRefused('The account of this person is disabled.')
  // The people of an organisation come from one address.
  if (!account && !standing) await deps.limiters.take(registerUses(requestInfo.ip))
  await deps.limiters.take(signInUses(account?.email ?? said.email!))
  if (standing)
    await assertMayJoin(deps, standing, { userId: account?.id ?? null, email: said.email! }, requestInfo)
  const at = deps.clock()
  const isOurs = await asSystem(deps.db, reason, async (tx) => {
    if (known) noteAddress(tx, { id: known.id, email: said.email })
    return finishFlow(tx, { id: flowId, at })
  })
  if (!isOurs) throw stateNotValid()
  const { person, identityId } =
    known && account
      ? { person: personOf(account), identityId: known.id }
      : account
        ? await linkTo(deps, asked, account)
        : await makeAndLink(deps, asked, standing)
  if (standing && account) await enterByConnection(deps, standing, person, asked)
  const authTime = Math.min(said.authTime ?? 0, at)
  const mfaAt = connection && mfaAtOf(said, at)
  const factor = { kind: 'federated', identityId, connection, authTime, mfaAt } as const
  const outcome = await signIn(deps, { person, factor, tenantId: null, requestInfo })
  if (outcome.kind === 'not_shown') throw signInRefused()
  return { ...orThrow(outcome), hasJoined: standing?.memberId === null }
}

/** Whose account it is that an upstream names; the identity is null until it is linked, the account until it is made. */
export interface Found {
  known: { id: string } | null
  account: UserRow | null
  /** What has to be proved first; null: nothing. */
  waitsFor: 'mail' | 'address' | null
  /** In the tenant of a connection; null: by a provider of the installation. */
  standing: Standing | null
}

async function findByProvider(
  tx: Tx,
  { email, isAuthority }: Said,
  known: KnownIdentity | null,
): Promise<Found> {
  if (known) return { known, account: await findUser(tx, known.user_id), waitsFor: null, standing: null }
  if (email === null || !isAuthority)
    return { known, account: null, waitsFor: email === null ? 'address' : 'mail', standing: null }
  return { known, account: await findUserByEmail(tx, email), waitsFor: null, standing: null }
}

const personOf = ({ id, email, first_name: firstName, last_name: lastName }: UserRow): Person => ({
  id,
  email,
  firstName,
  lastName,
})

interface LinkedPerson {
  person: Person
  identityId: string
}

async function makeAndLink(deps: Deps, asked: SettleAsked, standing: Standing | null): Promise<LinkedPerson> {
  const { upstream, said, requestInfo } = asked
  const email = said.email!
  const made = standing
    ? await makeMember(deps, standing, asked)
    : await makePerson(deps, requestInfo, { ...said, email, isProven: true })
  if (!made) throw overtaken()
  const { firstName, lastName } = said
  const person = { id: made.id, email, firstName, lastName }
  const { tenantId } = made
  const at = deps.clock()
  const identity = identityOf(upstream, said)
  const identityId = await asSystem(deps.db, reason, (tx) =>
    linkIdentity(deps, tx, { identity, person, tenantId, tells: false, requestInfo, at }),
  )
  if (identityId === null) throw overtaken()
  return { person, identityId }
}

/** Links to an account whose address is proved by now; at the first proof of it the account starts anew. */
async function linkTo(deps: Deps, asked: SettleAsked, account: UserRow): Promise<LinkedPerson> {
  const { upstream, said, madeId, requestInfo: from } = asked
  const { id, email } = account
  const recipient = await findRecipient(deps, from, email)
  if (!recipient) throw signInRefused()
  const at = deps.clock()
  const unusable = unusableHash()
  const { isFirst, identityId, person } = await asSystem(deps.db, reason, async (tx) => {
    await lockUser(tx, id)
    const locked = await findUser(tx, id)
    if (!locked?.is_active || locked.email !== email) throw overtaken()
    const identity = identityOf(upstream, said)
    if (upstream.tenantId !== null && (await hasOtherSubject(tx, id, identity)))
      throw signInRefused('The member with this address is linked to another account at this provider.')
    const { tenantId, requestInfo } = await logOfReader(
      tx,
      { userId: id, tenantId: recipient.tenantId },
      from,
    )
    const proof = { id, email, passwordHash: unusable, keepsPassword: true, tenantId, requestInfo, at }
    const isOwn = id === madeId && locked.email_verified_at === null
    if (isOwn && (await markProven(tx, { id, email, at })))
      await recordVerified(tx, { userId: id, email, tenantId, requestInfo, at })
    const isFirst =
      !isOwn && locked.email_verified_at === null && (await proveByMailbox(tx, proof))?.isFirst === true
    if (isFirst) {
      const changed = { userId: id, firstName: locked.first_name, tenantId, kept: null, requestInfo, at }
      await finishPasswordChange(deps, tx, { ...changed, firstProof: { hasPassword: false } })
    }
    const identityId = await linkIdentity(deps, tx, {
      identity,
      person: { id, email, firstName: recipient.firstName },
      tenantId,
      tells: !isOwn,
      requestInfo,
      at,
    })
    if (identityId === null) throw overtaken()
    return { isFirst, identityId, person: personOf(locked) }
  })
  if (isFirst) await createFreshTenant(deps, person, from, at)
  return { person, identityId }
}

const identityOf = ({ id: provider, name, tenantId }: SettleAsked['upstream'], said: Said) => ({
  provider,
  name,
  tenantId,
  issuer: said.issuer,
  attribute: said.attribute,
  subject: said.subject,
  email: said.email,
})

const overtaken = () =>
  new ApiError(409, 'overtaken', 'The account was changed by another sign-in meanwhile. Begin again.')
