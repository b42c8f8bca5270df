import { readAsSystem } from '../../database/executor/read.ts'
import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { appendAudit, doneBy } from '../../messages/audit/append-audit.ts'
import type { Caller } from '../../request/caller.ts'
import { listMembershipsOf } from '../../tenancy/members/store.ts'
import { assertFreshSecondFactor } from '../sessions/fresh-authentication.ts'
import { replacePassword } from '../users/store.ts'
import { checkCurrentPassword, wrongCurrentPassword } from './check-password.ts'
import { tenantWords } from './context-words.ts'
import { finishPasswordChange } from './finish-password-change.ts'
import { revoking } from './logout.ts'
import { refuseWeakPassword } from './password-policy.ts'

/**
 * Changes the caller's password; this chain of this session stays, the others end, and on request the API keys. 400 for a wrong current or a weak new password,
 * 401 if MFA is on and the session has not shown a second factor recently.
 */
export async function changePassword(
  deps: Deps,
  caller: Caller,
  body: { current_password: string; new_password: string; revoke_keys: boolean },
): Promise<void> {
  const { userId, tokenTenantId: tenantId, requestInfo, auth } = caller
  const { firstName } = auth.user
  assertFreshSecondFactor(caller, deps.clock())
  const memberships = await readAsSystem(deps.db, 'a person belongs to many tenants', (read) =>
    listMembershipsOf(read, userId),
  )
  const context = { ...auth.user, tenants: tenantWords(memberships) }
  refuseWeakPassword(deps, 'new_password', body.new_password, context)
  const from = await checkCurrentPassword(deps, caller, body.current_password)
  const to = await deps.passwords.hash(body.new_password)
  const at = deps.clock()
  const entry = { ...doneBy(caller, at), tenantId, action: 'password:change' } as const
  const changed = await asSystem(deps.db, 'a person has sessions in many tenants', async (tx) => {
    if (!(await replacePassword(tx, { id: userId, from, to, setAt: at }))) return false
    await appendAudit(tx, { ...entry, target: { type: 'user', id: userId }, ...revoking(body.revoke_keys) })
    await finishPasswordChange(deps, tx, {
      userId,
      firstName,
      tenantId,
      kept: caller,
      revokeKeys: body.revoke_keys,
      requestInfo,
      at,
    })
    return true
  })
  if (!changed) throw wrongCurrentPassword()
}
