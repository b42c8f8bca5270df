import type { Deps } from '../../deps.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import type { Membership } from '../../tenancy/members/store.ts'
import { invalidCredentials } from '../auth/check-password.ts'
import { holdPassword } from '../users/store.ts'
import { issueTokens, type TokenPair } from './issue-tokens.ts'
import { openSession } from './open-session.ts'
import { isChallenge, type OtpRequired, settleSecondFactor, signChallenge } from './second-factor.ts'

/**
 * Signs in a person whose password was right just now, to a place that admits them: a new session and its pair, or
 * the question for a second factor. 403 `channel_disabled` where one is due that nobody can show, 401
 * `invalid_credentials` where the password was replaced since: a reset ends every session that its old one opens.
 */
export async function signIn(
  deps: Deps,
  person: { id: string; email: string; passwordHash: string },
  place: Membership,
  requestInfo: RequestInfo,
): Promise<TokenPair | OtpRequired> {
  const now = deps.clock()
  const { id: userId, email } = person
  const { tenant_id: tenantId, requires_mfa: tenantRequires } = place
  const entry = { userId, tenantId, tenantRequires, session: null, authTime: now }
  const outcome = await asSystem(deps.db, 'a session begins before its tenant is in force', async (tx) => {
    if (!(await holdPassword(tx, person))) throw invalidCredentials()
    const settled = await settleSecondFactor(deps, tx, entry, now)
    if (isChallenge(settled)) return settled
    const opening = { userId, email, place, amr: ['pwd'], authTime: now, secondFactorAt: null, settled }
    return openSession(deps, tx, opening, requestInfo, now)
  })
  return isChallenge(outcome) ? signChallenge(deps, outcome, now) : issueTokens(deps, outcome, now)
}
