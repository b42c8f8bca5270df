import { timingSafeEqual } from 'node:crypto'
import { unusableHash } from '../../crypto/passwords.ts'
import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { markTokenUsed } from '../../messages/links/link-store.ts'
import { deadLink, findLink, type PresentedLink } from '../../messages/links/one-time-link.ts'
import { finishPasswordChange } from '../auth/finish-password-change.ts'
import { logOfReader } from '../auth/mail-account-link.ts'
import { signInUses } from '../rate-limits/limits.ts'
import { createFreshTenant } from '../sign-in/create-own-tenant.ts'
import { type FactorDue, type Opened, orThrow } from '../sign-in/outcome.ts'
import { recordLoginFailed } from '../sign-in/record-login-failed.ts'
import { signIn } from '../sign-in/sign-in.ts'
import { proveByMailbox, withoutPlace } from '../users/prove-by-mailbox.ts'
import { findUser, lockUser } from '../users/store.ts'
import { assertMagicLinksOn, noncesOf } from './request-magic-link.ts'

interface Confirmed {
  token: string
  nonce: string
}

const reason = 'the holder of the link is not logged in'

/**
 * Logs a person in with a mailed link, once, to the tenant that was asked for, else to the one they entered last. The
 * session is `aal1`, and a second factor is asked for as after a password, except that a code to the same mailbox is
 * none. The link proves the address; if it was not proven yet, the account starts anew ({@link proveByMailbox}), with a
 * fresh tenant and without a password. 400 `token_invalid`, also for a wrong nonce, which uses the link up; 400 `token_expired`; 403.
 */
export async function confirmMagicLink(
  deps: Deps,
  requestInfo: RequestInfo,
  { token, nonce }: Confirmed,
): Promise<Opened | FactorDue> {
  assertMagicLinksOn(deps)
  const at = deps.clock()
  const { link, user } = await asSystem(deps.db, reason, async (tx) => {
    const link = await findLink(tx, { purpose: 'magic_link', token, at })
    return { link, user: await findUser(tx, link.userId) }
  })
  if (!user?.is_active || user.email !== link.email) throw deadLink()
  const right = isNonceOf(deps, token, nonce)
  if (right) await deps.limiters.take(signInUses(user.email))
  const unproven = right && user.email_verified_at === null
  const unusable = unproven ? unusableHash() : null
  const used = await asSystem(deps.db, reason, (tx) =>
    useLink(deps, tx, link, { right, unusable, requestInfo }),
  )
  if (!used) throw deadLink()
  const { id, email, first_name: firstName, last_name: lastName } = user
  const person = { id, email, firstName, lastName }
  if (used.isFirst) await createFreshTenant(deps, person, requestInfo, at)
  const shown = { person, factor: { kind: 'link' }, tenantId: link.targetId, requestInfo } as const
  const outcome = await signIn(deps, shown)
  if (outcome.kind === 'not_shown') throw deadLink()
  return orThrow(outcome)
}

/** Whether a link was asked for with the answer that had this nonce. */
export function isNonceOf(deps: Pick<Deps, 'sealer'>, token: string, nonce: string): boolean {
  const given = Buffer.from(nonce, 'base64url')
  return noncesOf(deps, token).some((own) => own.length === given.length && timingSafeEqual(own, given))
}

interface Use {
  right: boolean
  /** A hash that no password has, for an account whose address is not proven yet. */
  unusable: string | null
  requestInfo: RequestInfo
}

/** Uses the link up; null, and it stays used, if its nonce was wrong. */
async function useLink(
  deps: Deps,
  tx: Tx,
  link: PresentedLink,
  { right, unusable, requestInfo: from }: Use,
): Promise<{ isFirst: boolean } | null> {
  const { userId, email, at } = link
  const locked = await lockUser(tx, userId)
  // Only this one: the other links can be those that the person waits for.
  if (!(await markTokenUsed(tx, link.id, at))) throw deadLink()
  if (locked?.email !== email) throw deadLink()
  if (!right) {
    await recordLoginFailed(tx, { userId, requestId: from.requestId, at })
    return null
  }
  const { tenantId, requestInfo } = await logOfReader(tx, link, from)
  const proof = await proveByMailbox(tx, {
    id: userId,
    email,
    passwordHash: unusable,
    keepsPassword: true,
    tenantId,
    requestInfo,
    at,
  })
  if (!proof || (proof.isFirst && unusable === null)) throw deadLink() // the address changed meanwhile
  const { isFirst } = proof
  if (isFirst) {
    const changed = {
      userId,
      firstName: locked.first_name,
      tenantId,
      kept: null,
      requestInfo,
      at,
    }
    await finishPasswordChange(deps, tx, { ...changed, firstProof: { hasPassword: false } })
  }
  await appendAudit(tx, {
    tenantId,
    actor: { id: userId, email },
    requestInfo: isFirst ? withoutPlace(requestInfo) : requestInfo,
    action: 'magic_link:confirm',
    target: { type: 'user', id: userId },
    at,
  })
  return proof
}
