import type { Deps } from '../../deps.ts'
import { appendAudit } from '../../platform/audit/append-audit.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { ApiError } from '../../platform/errors.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { listMembershipsOf } from '../../tenancy/members/store.ts'
import { finishPasswordChange } from '../auth/finish-password-change.ts'
import { accountKey } from '../rate-limits/limits.ts'
import { clearAttempts } from '../rate-limits/store.ts'
import { findCredentials, findPersonBy, replacePassword } from '../users/store.ts'

type PasswordDeps = Pick<Deps, 'clock' | 'sealer' | 'passwords'> & { db: Pick<Deps['db'], 'system'> }

const noTenant = () =>
  new ApiError(
    409,
    'no_active_membership',
    'This person belongs to no tenant, which the events of a password need. Let them reset it: that mail makes a tenant.',
  )
const changed = () =>
  new ApiError(409, 'changed', 'This account changed just now. Look at it, and run the command again.')

/**
 * Replaces the password of a person for an operator; null if there is none with that address or id. Their sessions end, the
 * lock of their account is lifted, and they get a mail. Factors stay: users:reset-factors removes them. 409
 * `no_active_membership`, `changed`.
 */
export async function setPassword(
  deps: PasswordDeps,
  requestInfo: RequestInfo,
  { person, password }: { person: { email: string } | { id: string }; password: string },
): Promise<{ id: string; email: string } | null> {
  const passwordHash = await deps.passwords.hash(password)
  const at = deps.clock()
  return asSystem(deps.db, 'an operator sets the password of a person', async (tx) => {
    const user = await findPersonBy(tx, person)
    const held = user && (await findCredentials(tx, user.email))
    if (!user || !held) return null
    const { id: userId, email, first_name: firstName } = user
    const [home] = await listMembershipsOf(tx, userId)
    if (!home) throw noTenant()
    const swap = { id: userId, from: held.password_hash, to: passwordHash, setAt: at }
    if (!(await replacePassword(tx, swap))) throw changed()
    await clearAttempts(tx, accountKey(email))
    const tenantId = home.tenant_id
    const target = { type: 'user', id: userId }
    await appendAudit(tx, { tenantId, actor: null, requestInfo, action: 'password:reset', target, at })
    const whole = { userId, firstName, tenantId, kept: null, bySystem: true, requestInfo, at }
    await finishPasswordChange(deps, tx, whole)
    return { id: userId, email }
  })
}
