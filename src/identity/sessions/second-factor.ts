import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { unauthorized } from '../../platform/errors.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import type { Membership } from '../../tenancy/members/store.ts'
import { channelDisabled, type DeviceType } from '../otp/channels.ts'
import { enrolledOneThatCounts, type Factors, mayEnrolFirst, usableMethods } from '../otp/factors.ts'
import { findFactors } from '../otp/store.ts'
import { endOldestPendingSessions, insertPendingSession } from './pending-store.ts'

declare const answered: unique symbol

/** Proof that it was asked whether a second factor is due, and that none is: full tokens are not made without it. */
export interface SecondFactorSettled {
  readonly [answered]: true
}

const settled = {} as SecondFactorSettled

// All that wait are ended together with the person's sessions, so how many there can be is bounded.
const maxPending = 100

/** The proof of a session that showed a second factor. */
export const settledByCode = (_shown: DeviceType): SecondFactorSettled => settled

/** Who is about to get tokens for a tenant. */
export interface Entry {
  userId: string
  tenantId: string
  /** The tenant setting `require_mfa`. */
  tenantRequires: boolean
  /** The session that enters; null at a login, which is also asked for what the person and the service demand. */
  session: { id: string; acr: 'aal1' | 'aal2' } | null
  /** ms since 1970 */
  authTime: number
}

/** A sign-in that waits for a second factor, recorded and still to be signed. */
export interface Challenge {
  pendingId: string
  entry: Entry
  methods: DeviceType[]
}

/** What is answered in place of tokens. */
export interface OtpRequired {
  otp_required: true
  temporary_token: string
  expires_in: number
  methods: DeviceType[]
}

/**
 * Asks whether a second factor is due. Gives the proof that none is, or the challenge, recorded. 403
 * `channel_disabled` where one is due and the person can neither show nor set up one: a channel that is switched off
 * makes nobody weaker. As the system role.
 */
export async function settleSecondFactor(
  { config }: Pick<Deps, 'config'>,
  tx: Tx,
  entry: Entry,
  now: number,
): Promise<SecondFactorSettled | Challenge> {
  if (!config.OTP_ENABLED || entry.session?.acr === 'aal2') return settled
  const factors = await findFactors(tx, entry.userId, now)
  const enrolled = factors.totp && config.OTP_REQUIRED_WHEN_ENROLLED
  const demandedAtLogin = entry.session === null && (config.OTP_REQUIRED_FOR_LOGIN || enrolled)
  if (!entry.tenantRequires && !demandedAtLogin) return settled
  const counting = entry.tenantRequires || demandsAtLogin(config, factors)
  const methods = usableMethods(config, factors, counting)
  if (methods.length === 0 && !mayEnrolFirst(config, factors)) throw channelDisabled()
  const pendingId = timeOrderedId(now)
  const { userId, tenantId, session, authTime } = entry
  const expiresAt = now + config.OTP_TEMPORARY_TOKEN_VALIDITY_SECONDS * 1000
  const sessionId = session?.id ?? null
  await insertPendingSession(tx, { id: pendingId, userId, tenantId, sessionId, authTime, at: now, expiresAt })
  await endOldestPendingSessions(tx, { userId, sessionId, kept: maxPending, at: now })
  return { pendingId, entry, methods }
}

/** Whether a login asks for a factor that counts: a young one does not stand in for an enrolled one that does. */
const demandsAtLogin = (config: Deps['config'], factors: Factors) =>
  config.OTP_REQUIRED_WHEN_ENROLLED && enrolledOneThatCounts(factors)

/** Whether a sign-in to this place has to show a factor that counts. As the system role. */
export async function demandsOneThatCounts(
  { config }: Pick<Deps, 'config'>,
  tx: Tx,
  userId: string,
  place: Membership,
  now: number,
): Promise<boolean> {
  return place.requires_mfa || demandsAtLogin(config, await findFactors(tx, userId, now))
}

/** Whether a second factor has to be shown first. */
export const isChallenge = (outcome: object): outcome is Challenge => 'pendingId' in outcome

/** Signs the temporary token of a challenge, once that is committed. */
export async function signChallenge(
  { config, signer }: Pick<Deps, 'config' | 'signer'>,
  { pendingId, entry, methods }: Challenge,
  now: number,
): Promise<OtpRequired> {
  const iat = Math.floor(now / 1000)
  const validity = config.OTP_TEMPORARY_TOKEN_VALIDITY_SECONDS
  const token = await signer.sign('otp_pending', {
    sub: entry.userId,
    sid: pendingId,
    tenant_id: entry.tenantId,
    jti: timeOrderedId(now),
    iat,
    exp: iat + validity,
  })
  return { otp_required: true, temporary_token: token, expires_in: validity, methods }
}

/** A challenge as a refusal, where a pair for another tenant was asked for: 401 `otp_required`. */
export function otpRequired(asked: OtpRequired) {
  const error = unauthorized(
    'otp_required',
    'This tenant requires a second factor: POST /api/v1/auth/otp/verify/.',
  )
  Object.assign(error.members, asked)
  return error
}
