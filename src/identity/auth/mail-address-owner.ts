import { readAsSystem } from '../../database/executor/read.ts'
import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import { listMembershipsOf } from '../../tenancy/members/store.ts'
import { findCredentials } from '../users/store.ts'
import { findRecipient } from './mail-account-link.ts'
import { makeResetLink } from './request-password-reset.ts'

const reason = 'the address belongs to another person'

/**
 * The duration of an answer if REGISTRATION_HIDE_EXISTING is set (see `padDuration`): much longer than writing an
 * account or an address takes, so that the time shows neither that nor the mail to the owner.
 */
export const hiddenMs = 200

/**
 * Mails the owner of an address that another person asked for it, since that person must not learn of the account. If the
 * address was never proven, another person can have made the account: the mail has a link that makes its reader the first
 * to prove the address, with a password of their own ({@link resetPassword}), so that the earlier one opens nothing.
 */
export async function mailAddressOwner(deps: Deps, email: string, requestInfo: RequestInfo): Promise<void> {
  const found = await readAsSystem(deps.db, reason, (read) => findCredentials(read, email))
  const isClaim = found?.is_active && !found.email_verified
  const claimant = isClaim ? await findRecipient(deps, requestInfo, email) : null
  await asSystem(deps.db, reason, async (tx) => {
    const tenantId = claimant?.tenantId ?? (found && (await listMembershipsOf(tx, found.id))[0]?.tenant_id)
    if (!tenantId) return
    const at = deps.clock()
    await sendMail(tx, deps.sealer, {
      tenantId,
      to: email,
      template: 'address_already_registered',
      variables: claimant ? await makeResetLink(tx, deps, claimant, at) : {},
      requestInfo,
      at,
    })
  })
}
