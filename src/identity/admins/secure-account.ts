import { asSystem } from '../../database/executor/transaction.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { resetPassword } from '../auth/reset-password.ts'
import type { AdminDeps } from './create-admin.ts'
import { changed } from './refused-accounts.ts'

interface Secured {
  person: { id: string; email: string; firstName: string }
  passwordHash: string
  /** The tenant that gets the events and the audit row. */
  tenantId: string
}

/**
 * Gives an account that was registered but never verified a new password, and marks its address as verified, for an
 * operator who vouches for it.
 */
export async function secureAccount(
  deps: AdminDeps,
  requestInfo: RequestInfo,
  secured: Secured,
): Promise<void> {
  const at = deps.clock()
  await asSystem(deps.db, 'the password of an account that was never verified is replaced', async (tx) => {
    const proof = await resetPassword(deps, tx, { ...secured, bySystem: true, requestInfo, at })
    // If it was verified meanwhile, the account has an owner.
    if (!proof?.isFirst) throw changed()
  })
}
