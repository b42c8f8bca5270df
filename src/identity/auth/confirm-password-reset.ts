import type { Deps } from '../../deps.ts'
import { appendAudit } from '../../platform/audit/append-audit.ts'
import { asSystem, type Tx } from '../../platform/db/transaction.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { deadLink, findLink, type PresentedLink, spendLink } from '../../platform/links/one-time-link.ts'
import { findPerson, listMembershipsOf } from '../../tenancy/members/store.ts'
import { removeYoungFactors } from '../otp/young-factors.ts'
import { accountKey } from '../rate-limits/limits.ts'
import { clearAttempts } from '../rate-limits/store.ts'
import { holdBackMailedCodes } from '../users/address-store.ts'
import { proveByMailbox, withoutPlace } from '../users/prove-by-mailbox.ts'
import { tenantWords } from './context-words.ts'
import { createFreshTenant } from './create-own-tenant.ts'
import { finishPasswordChange } from './finish-password-change.ts'
import { logOfReader } from './mail-account-link.ts'
import { refuseWeakPassword } from './password-policy.ts'

const dayMs = 86_400_000

/**
 * Sets a new password with a mailed token, once: ends all sessions, revokes API keys, removes young factors, which a thief
 * of the password could have enrolled, proves the address and lifts its lock. It does
 * not log the person in, because a second factor stays due, and a code to the same mailbox is not enough. If the address
 * was not proven yet, the account starts anew ({@link proveByMailbox}), with a fresh tenant. 400 `token_expired` for a token
 * that is only too old, else `token_invalid`; 400 on `password` for a weak password, which leaves the token usable.
 */
export async function confirmPasswordReset(
  deps: Deps,
  requestInfo: RequestInfo,
  body: { token: string; password: string },
): Promise<{ message: 'Password changed' }> {
  const presented = { purpose: 'password_reset', token: body.token, at: deps.clock() } as const
  const { link, person, memberships } = await asSystem(
    deps.db,
    'the holder of the link is not logged in',
    async (tx) => {
      const link = await findLink(tx, presented)
      const person = await findPerson(tx, link.userId)
      if (person?.email !== link.email) throw deadLink()
      return { link, person, memberships: await listMembershipsOf(tx, person.id) }
    },
  )
  refuseWeakPassword(deps, 'password', body.password, { ...person, tenants: tenantWords(memberships) })
  const passwordHash = await deps.passwords.hash(body.password)
  const { isFirst } = await asSystem(deps.db, 'the holder of the link is not logged in', (tx) =>
    useLink(deps, tx, link, { ...person, passwordHash }, requestInfo),
  )
  if (isFirst) await createFreshTenant(deps, person, requestInfo, link.at)
  return { message: 'Password changed' }
}

async function useLink(
  deps: Deps,
  tx: Tx,
  link: PresentedLink,
  person: { id: string; email: string; firstName: string; passwordHash: string },
  from: RequestInfo,
): Promise<{ isFirst: boolean }> {
  const { at } = link
  const { id: userId, email, firstName } = person
  await spendLink(tx, link)
  const { tenantId, requestInfo } = await logOfReader(tx, link, from)
  const proof = await proveByMailbox(tx, { ...person, keepsPassword: false, tenantId, requestInfo, at })
  if (!proof) throw deadLink()
  const { isFirst } = proof
  await clearAttempts(tx, accountKey(email))
  if (!isFirst) {
    await removeYoungFactors(tx, userId, { tenantId, actorId: userId, requestId: requestInfo.requestId, at })
    await holdBackMailedCodes(tx, { id: userId, until: at + dayMs, at })
  }
  await appendAudit(tx, {
    tenantId,
    actor: { id: userId, email },
    requestInfo: isFirst ? withoutPlace(requestInfo) : requestInfo,
    action: 'password:reset',
    target: { type: 'user', id: userId },
    at,
  })
  await finishPasswordChange(deps, tx, {
    userId,
    firstName,
    tenantId,
    kept: null,
    revokeKeys: true,
    ...(isFirst && { firstProof: { hasPassword: true } }),
    requestInfo,
    at,
  })
  return proof
}
