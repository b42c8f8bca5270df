import type { Deps } from '../../deps.ts'
import { appendAudit, doneBy } from '../../platform/audit/append-audit.ts'
import { readAsSystem } from '../../platform/db/read.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { listMembershipsOf } from '../../tenancy/members/store.ts'
import { assertFreshSecondFactor } from '../sessions/fresh-authentication.ts'
import { replacePassword } from '../users/store.ts'
import { checkCurrentPassword, wrongCurrentPassword } from './check-password.ts'
import { tenantWords } from './context-words.ts'
import { refuseWeakPassword } from './password-policy.ts'
import { settleNewPassword } from './settle-new-password.ts'

/**
 * Changes the caller's password; this session lives on, the others end. 400 for a wrong current or a weak new one,
 * 401 where MFA is on and no second factor was shown lately.
 */
export async function changePassword(
  deps: Deps,
  caller: Caller,
  body: { current_password: string; new_password: string },
): Promise<{ message: 'Password changed' }> {
  const { userId, sessionId, tokenTenantId: tenantId, requestInfo, auth } = caller
  const { email, firstName } = auth.user
  assertFreshSecondFactor(caller, deps.clock())
  const places = await readAsSystem(deps.db, 'a person belongs to many tenants', (read) =>
    listMembershipsOf(read, userId),
  )
  const context = { ...auth.user, tenants: tenantWords(places) }
  refuseWeakPassword(deps, 'new_password', body.new_password, context)
  const from = await checkCurrentPassword(deps, caller, body.current_password)
  const to = await deps.passwords.hash(body.new_password)
  const at = deps.clock()
  const deed = { ...doneBy(caller, at), tenantId, action: 'password:change' } as const
  await asSystem(deps.db, 'sessions of a person lie in many tenants', async (tx) => {
    if (!(await replacePassword(tx, { id: userId, from, to }))) throw wrongCurrentPassword()
    await appendAudit(tx, { ...deed, target: { type: 'user', id: userId } })
    await settleNewPassword(deps, tx, {
      userId,
      email,
      firstName,
      tenantId,
      keepSession: sessionId,
      requestInfo,
      at,
    })
  })
  return { message: 'Password changed' }
}
