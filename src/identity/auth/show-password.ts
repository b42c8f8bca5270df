import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { sessionRevoked, tokenNotValid } from '../../errors.ts'
import { appendAudit, doneBy } from '../../messages/audit/append-audit.ts'
import type { Caller } from '../../request/caller.ts'
import { recordFactor } from '../sessions/family-store.ts'
import { assertFreshSecondFactor } from '../sessions/fresh-authentication.ts'
import { recordShownAgain } from '../sessions/store.ts'
import { handOut, renewed } from '../sign-in/outcome.ts'
import { lockPassword } from '../users/store.ts'
import { checkCurrentPassword } from './check-password.ts'

/**
 * Shows the caller's password again: their session goes on, with what stands on it, as one that signed in just now. 400 on
 * `current_password` for a wrong password, which counts as a failed sign-in. 401 `session_revoked`, and for a person who has
 * a second factor to show instead.
 */
export async function showPassword(deps: Deps, caller: Caller, password: string) {
  const { userId, sessionId, familyId } = caller
  const at = deps.clock()
  if (familyId === null) throw tokenNotValid()
  assertFreshSecondFactor(caller, at)
  const passwordHash = await checkCurrentPassword(deps, caller, password)
  await asSystem(deps.db, 'a session spans tenants', async (tx) => {
    if (!(await lockPassword(tx, { id: userId, passwordHash }))) throw sessionRevoked()
    const shown = { familyId, sessionId, userId, kind: 'pwd', counts: false, at }
    if (!(await recordFactor(tx, shown))) throw sessionRevoked()
    recordShownAgain(tx, { sessionId, at })
    const target = { type: 'session', id: sessionId } as const
    await appendAudit(tx, { ...doneBy(caller, at), action: 'otp:verify', target })
  })
  return handOut(renewed)
}
