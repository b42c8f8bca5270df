import type { Deps } from '../../deps.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { ApiError } from '../../platform/errors.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import type { Membership } from '../../tenancy/members/store.ts'
import { type WrongPassword, wrongPassword } from '../rate-limits/guard-password.ts'
import { lockPassword } from '../users/store.ts'
import { issueTokens, type TokenPair } from './issue-tokens.ts'
import { openSession } from './open-session.ts'
import { checkSecondFactor, isChallenge, type OtpRequired, signChallenge } from './second-factor.ts'

/** How a sign-in ends: with tokens, with a request for a second factor, or refused. */
export type SignInOutcome = TokenPair | OtpRequired | WrongPassword | ApiError

/**
 * Signs in a person who has just shown the right password, to a tenant that they can enter: returns a new session's
 * tokens, or asks for a second factor. Refuses with 403 `channel_disabled` if a second factor is due and the person has
 * no way to show one, and as a wrong password if the password was replaced meanwhile: a reset ends every session that
 * the old password opens.
 */
export async function signIn(
  deps: Deps,
  person: { id: string; email: string; passwordHash: string },
  membership: Membership,
  requestInfo: RequestInfo,
): Promise<SignInOutcome> {
  const now = deps.clock()
  const { id: userId, email } = person
  const { tenant_id: tenantId, requires_mfa: tenantRequires } = membership
  const entry = { userId, tenantId, tenantRequires, session: null, authTime: now }
  const outcome = await asSystem(deps.db, 'a session begins before its tenant is known', async (tx) => {
    if (!(await lockPassword(tx, person))) return wrongPassword
    const settled = await checkSecondFactor(deps, tx, entry, now)
    if (settled instanceof ApiError || isChallenge(settled)) return settled
    const opening = { userId, email, membership, amr: ['pwd'], authTime: now, secondFactorAt: null, settled }
    return openSession(deps, tx, opening, requestInfo, now)
  })
  if (outcome === wrongPassword || outcome instanceof ApiError) return outcome
  return isChallenge(outcome) ? signChallenge(deps, outcome, now) : issueTokens(deps, outcome, now)
}
