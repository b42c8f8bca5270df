import { isUnusable } from '../../crypto/passwords.ts'
import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { mailUses } from '../../identity/rate-limits/limits.ts'
import { canMove, moveProfile } from '../../identity/users/move-address.ts'
import { findUser, isEmailTaken, lockUser, type UserRow } from '../../identity/users/store.ts'
import { actorOf } from '../../messages/audit/append-audit.ts'
import { endTokens } from '../../messages/links/link-store.ts'
import { makeLink } from '../../messages/links/one-time-link.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import type { Caller } from '../../request/caller.ts'
import { isInOneDomain } from '../../tenancy/domains/store.ts'
import { listMembershipsOf } from '../../tenancy/members/store.ts'
import { findOwnWays } from './own-ways-store.ts'

/** What a directory changed of a member. Null: it is as it was. */
export interface Follow {
  userId: string
  membershipId: string
  /** SCIM made the person. */
  isMade: boolean
  /** The directory gave or took an address: an earlier one that waits to be confirmed moves the account no more. */
  hasOtherEmail: boolean
  email: string | null
  firstName: string | null
  lastName: string | null
}

const dayMs = 86_400_000
const purpose = 'email_verification'
const reason = 'a directory describes a person, whose account is no row of a tenant'

/**
 * Lets the account of a member follow the directory, if it is the directory's alone. Else a new address gets a mail with a link that moves the
 * account there, if it can move ({@link canMove}); until then nothing does. An address of another account stays theirs.
 */
export async function followProfile(deps: Deps, caller: Caller, follow: Follow): Promise<void> {
  const { userId, email, firstName, lastName } = follow
  const at = deps.clock()
  try {
    const isLeft = await asSystem(deps.db, reason, async (tx) => {
      await lockUser(tx, userId)
      const { membershipId: targetId, hasOtherEmail } = follow
      if (hasOtherEmail) await endTokens(tx, { purpose, userId, targetId, at })
      if (email === null && firstName === null && lastName === null) return false
      const user = await findUser(tx, userId)
      if (!user?.is_active) return false
      if (!(await isOfDirectory(tx, caller, user, follow)))
        return (
          email !== null && email !== user.email && canMove(tx, user, { tenantId: caller.tenantId, email })
        )
      const by = { actor: actorOf(caller), requestInfo: caller.requestInfo, at, canUndo: false }
      await moveProfile(deps, tx, user, { ...follow, tenantId: caller.tenantId }, by)
      return false
    })
    if (isLeft && email !== null) await mailNewAddress(deps, caller, { ...follow, email }, at)
  } catch (error) {
    if (!isEmailTaken(error) && !(error instanceof ApiError && error.status === 429)) throw error
  }
}

/** Whether SCIM made the person, the tenant is their only one, and they have no way in of their own, within one domain of the tenant. */
async function isOfDirectory(
  tx: Tx,
  { tenantId }: Caller,
  user: UserRow,
  { isMade, email }: Follow,
): Promise<boolean> {
  if (!isMade) return false
  const [memberships, ways, isInOne] = await Promise.all([
    listMembershipsOf(tx, user.id),
    findOwnWays(tx, { userId: user.id, tenantId }),
    isInOneDomain(tx, tenantId, [user.email, email ?? user.email]),
  ])
  const [only, another] = memberships
  if (!only || another || only.tenant_id !== tenantId || only.is_owner) return false
  return isInOne && isUnusable(ways.password_hash) && !ways.has_factor && !ways.has_identity
}

/** Mails a link to the new address, in place of an earlier one. 429 `throttled`. */
async function mailNewAddress(
  deps: Deps,
  { tenantId, requestInfo }: Caller,
  { userId, membershipId: targetId, email }: Follow & { email: string },
  at: number,
): Promise<void> {
  await deps.limiters.take(mailUses('verification', email))
  await asSystem(deps.db, reason, async (tx) => {
    const user = await findUser(tx, userId)
    if (!user?.is_active || !(await canMove(tx, user, { tenantId, email }))) return
    await endTokens(tx, { purpose, userId, targetId, at })
    const link = await makeLink(tx, deps, { purpose, userId, tenantId, email, targetId, at, lifeMs: dayMs })
    const variables = { link, origin: { how: 'changed', at } as const, minutes: dayMs / 60_000 }
    const mail = { tenantId, to: email, template: 'email_verification', variables } as const
    await sendMail(tx, deps.sealer, { ...mail, requestInfo, at })
  })
}
