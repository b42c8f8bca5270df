import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { listMembershipsOf, type Membership } from '../../tenancy/members/store.ts'
import { type Factors, findFactors } from '../otp/factor-store.ts'
import { lockPassword } from '../users/store.ts'
import { issueTokens, type TokenPair } from './issue-tokens.ts'
import { openSession, readSignInHistory, type SignInHistory } from './open-session.ts'
import {
  checkSecondFactor,
  isChallenge,
  type OtpRequired,
  settledByFactor,
  signChallenge,
} from './second-factor.ts'

/** What a person showed first. */
export interface FirstFactor {
  /** RFC 8176 */
  amr: readonly string[]
  /** What it is worth as a second factor, which only a passkey is at the same time. */
  asSecond?: 'counts' | 'young'
  /** In the transaction of the sign-in: whether it is still valid, and stays so until the session is open. */
  hold(tx: Tx, now: number): Promise<boolean>
  /** Records what showed it: the first chain of the session, or the sign-in that waits for a second factor. */
  bind?(tx: Tx, signInId: string): Promise<void>
}

/**
 * A password that was right when it was compared. A reset ends every session that the old password opens. `clear` takes
 * back the attempt, in the transaction of the sign-in.
 */
export const passwordShown = (
  person: { id: string; passwordHash: string },
  clear?: (tx: Tx) => void,
): FirstFactor => ({
  amr: ['pwd'],
  async hold(tx) {
    const held = await lockPassword(tx, person)
    if (held) clear?.(tx)
    return held
  },
})

/**
 * How a sign-in ends: with tokens, with a request for a second factor, refused, or null because the first factor is no
 * longer valid.
 */
export type SignInOutcome = TokenPair | OtpRequired | ApiError | null

/**
 * Chooses the membership to enter by; undefined if there is none, and a refusal if it is closed to the person. What a
 * sign-in wrote until then is rolled back when it throws.
 */
export type Choice = (memberships: readonly Membership[]) => Membership | ApiError

/**
 * Signs in a person who has just shown a first factor, to the tenant that `choose` gives: returns a new session's
 * tokens, or asks for a second factor. Refuses with 403 `channel_disabled` if a second factor is due and the person has
 * no way to show one.
 */
export async function signIn(
  deps: Deps,
  person: { id: string; email: string },
  choose: Choice,
  factor: FirstFactor,
  requestInfo: RequestInfo,
): Promise<SignInOutcome> {
  const now = deps.clock()
  const outcome = await asSystem(deps.db, 'a session begins before its tenant is known', async (tx) => {
    // One round trip. The lock goes first, so that the rest is read behind it.
    const [held, factors, memberships, history] = await Promise.all([
      factor.hold(tx, now),
      findFactors(tx, person.id, now),
      listMembershipsOf(tx, person.id),
      readSignInHistory(tx, person.id, requestInfo),
    ])
    if (!held || !factors) return null
    const membership = choose(memberships)
    if (membership instanceof ApiError) return membership
    const entered = await enter(deps, tx, person, membership, factor, requestInfo, factors, history, now)
    if (!(entered instanceof ApiError))
      await factor.bind?.(tx, isChallenge(entered) ? entered.pendingId : entered.familyId)
    return entered
  })
  if (outcome === null || outcome instanceof ApiError) return outcome
  return isChallenge(outcome) ? signChallenge(deps, outcome, now) : issueTokens(deps, outcome, now)
}

async function enter(
  deps: Deps,
  tx: Tx,
  { id: userId, email }: { id: string; email: string },
  membership: Membership,
  { amr: first, asSecond }: FirstFactor,
  requestInfo: RequestInfo,
  factors: Factors,
  history: SignInHistory,
  now: number,
) {
  const { tenant_id: tenantId, requires_mfa: tenantRequires } = membership
  const showedYoung = asSecond === 'young'
  const entry = { userId, tenantId, tenantRequires, session: null, amr: first, showedYoung, authTime: now }
  const counts = asSecond === 'counts'
  const settled = counts ? settledByFactor('passkey') : await checkSecondFactor(deps, tx, entry, factors, now)
  if (settled instanceof ApiError || isChallenge(settled)) return settled
  const amr = counts ? [...first, 'mfa'] : first
  const secondFactorAt = counts ? now : null
  const opening = { userId, email, membership, amr, authTime: now, secondFactorAt, settled, history }
  return openSession(deps, tx, opening, requestInfo, now)
}
