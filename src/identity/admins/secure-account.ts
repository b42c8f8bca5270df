import { appendAudit } from '../../platform/audit/append-audit.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { ApiError } from '../../platform/errors.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { endAllTokens } from '../../platform/links/link-store.ts'
import { finishPasswordChange } from '../auth/finish-password-change.ts'
import { accountKey } from '../rate-limits/limits.ts'
import { clearAttempts } from '../rate-limits/store.ts'
import { proveByMailbox } from '../users/prove-by-mailbox.ts'
import type { AdminDeps } from './create-admin.ts'

interface Secured {
  person: { id: string; email: string; firstName: string }
  passwordHash: string
  /** The tenant that gets the events and the audit row. */
  tenantId: string
}

const changed = () =>
  new ApiError(409, 'changed', 'This account changed just now. Look at it, and run the command again.')

/**
 * Gives an account that was registered but never verified a new password, and marks its address as verified, for an
 * operator who vouches for it. As after every new password, its sessions end and its owner gets a mail.
 */
export async function secureAccount(
  deps: AdminDeps,
  requestInfo: RequestInfo,
  { person, passwordHash, tenantId }: Secured,
): Promise<void> {
  const at = deps.clock()
  const { id: userId, email, firstName } = person
  const common = { tenantId, bySystem: true, requestInfo, at }
  await asSystem(deps.db, 'the password of an account that was never verified is replaced', async (tx) => {
    const proof = await proveByMailbox(tx, {
      ...common,
      id: userId,
      email,
      passwordHash,
      keepsPassword: false,
    })
    // If it was verified meanwhile, the account has an owner.
    if (!proof?.isFirst) throw changed()
    await clearAttempts(tx, accountKey(email))
    // Otherwise an earlier address could take the account back.
    await endAllTokens(tx, userId, at)
    const target = { type: 'user', id: userId }
    await appendAudit(tx, { tenantId, actor: null, requestInfo, action: 'password:reset', target, at })
    await finishPasswordChange(deps, tx, { ...common, userId, firstName, kept: null })
  })
}
