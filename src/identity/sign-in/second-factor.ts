import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { type ApiError, unauthorized } from '../../errors.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Membership } from '../../tenancy/members/store.ts'
import {
  beganByMail,
  canEnrolFirst,
  channelDisabled,
  type DeviceType,
  mailboxShownAlready,
  usableMethods,
} from '../otp/channels.ts'
import { type Factors, findFactors } from '../otp/factor-store.ts'
import { endOldestPendingSessions, insertPendingSession } from '../sessions/store.ts'

declare const answered: unique symbol

/** Proof that the service checked for a second factor and none is due. Full tokens cannot be issued without it. */
export interface SecondFactorSettled {
  readonly [answered]: true
}

const settled = {} as SecondFactorSettled

// Ending a person's sessions ends every waiting sign-in too, so their number is limited.
const maxPending = 100

/** The proof for a session that has shown a second factor, or a passkey that is two factors by itself. */
export const settledByFactor = (_shown: DeviceType): SecondFactorSettled => settled

/** A person who is about to get tokens for a tenant. */
interface Entry {
  userId: string
  tenantId: string
  /** The tenant setting `require_mfa`. */
  tenantRequires: boolean
  /** The session and chain that enter; null at a login, to which the demands of the person and the service also apply. */
  session: { id: string; secondFactorAt: number | null; endsAt: number } | null
  /** The factors shown so far (RFC 8176). */
  amr: readonly string[]
  /** A young factor was shown, which is enough unless a factor that counts is demanded. */
  showedYoung?: boolean
  /** ms since 1970 */
  authTime: number
}

/** A second factor is due. No sign-in waits for it yet: {@link openChallenge} stores one. */
export interface FactorDue {
  entry: Entry
  methods: DeviceType[]
}

/** A sign-in that waits for a second factor: stored in the database, its temporary token not signed yet. */
export interface Challenge extends FactorDue {
  pendingId: string
}

/** The answer in place of tokens. */
export interface OtpRequired {
  otp_required: true
  temporary_token: string
  expires_in: number
  methods: DeviceType[]
}

/**
 * Checks whether a second factor is due. Returns the proof that none is, or the stored challenge, or 403
 * `channel_disabled` if one is due and the person can neither show nor set up one: switching a channel off must not
 * weaken an account. As the system role.
 */
export async function checkSecondFactor(
  deps: Pick<Deps, 'config'>,
  tx: Tx,
  entry: Entry,
  factors: Factors,
  now: number,
): Promise<SecondFactorSettled | Challenge | ApiError> {
  const found = dueFactor(deps, entry, factors)
  return isFactorDue(found) ? openChallenge(deps, tx, found, now) : found
}

/** The same without storing a challenge. */
export function dueFactor(
  { config }: Pick<Deps, 'config'>,
  entry: Entry,
  factors: Factors,
): SecondFactorSettled | FactorDue | ApiError {
  const shown = entry.session !== null && entry.session.secondFactorAt !== null
  if (!config.OTP_ENABLED || shown) return settled
  const enrolled = (factors.totp || factors.passkey) && config.OTP_REQUIRED_WHEN_ENROLLED
  const demandedAtLogin = entry.session === null && (config.OTP_REQUIRED_FOR_LOGIN || enrolled)
  const counting = entry.tenantRequires || demandsAtLogin(config, factors)
  const demanded = entry.showedYoung ? counting : entry.tenantRequires || demandedAtLogin
  if (!demanded) return settled
  const byMail = beganByMail(entry.amr)
  const shownable = byMail ? { ...factors, mailed_codes_count: false } : factors
  const methods = usableMethods(config, shownable, counting)
  if (methods.length === 0 && !canEnrolFirst(config, factors))
    return byMail ? mailboxShownAlready() : channelDisabled()
  return { entry, methods }
}

/** Stores a sign-in that waits for the factor. As the system role. */
export async function openChallenge(
  { config }: Pick<Deps, 'config'>,
  tx: Tx,
  { entry, methods }: FactorDue,
  now: number,
): Promise<Challenge> {
  const pendingId = timeOrderedId(now)
  const { userId, tenantId, session, amr, authTime } = entry
  const expiresAt = now + config.OTP_TEMPORARY_TOKEN_VALIDITY_SECONDS * 1000
  const sessionId = session?.id ?? null
  await insertPendingSession(tx, {
    id: pendingId,
    userId,
    tenantId,
    sessionId,
    amr,
    authTime,
    at: now,
    expiresAt,
    chainEndsAt: session?.endsAt ?? null,
  })
  await endOldestPendingSessions(tx, { userId, sessionId, kept: maxPending, at: now })
  return { pendingId, entry, methods }
}

/** Whether a login demands a factor that counts: a young factor does not replace a passkey or an app that counts. */
const demandsAtLogin = (config: Deps['config'], factors: Factors) =>
  config.OTP_REQUIRED_WHEN_ENROLLED && (factors.totp_counts || factors.passkey_counts)

/** Whether a sign-in to this tenant has to show a factor that counts. As the system role. */
export async function demandsCountingFactor(
  { config }: Pick<Deps, 'config'>,
  tx: Tx,
  userId: string,
  membership: Membership,
  now: number,
): Promise<boolean> {
  const factors = await findFactors(tx, userId, now)
  return membership.requires_mfa || factors === null || demandsAtLogin(config, factors)
}

export const isFactorDue = (outcome: object): outcome is FactorDue => 'methods' in outcome

export const isChallenge = (outcome: object): outcome is Challenge => 'pendingId' in outcome

/** Signs the temporary token of a challenge. Call it after the transaction has committed. */
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

/** The challenge as a 401 `otp_required`, for a request that asked for another tenant's tokens. */
export function otpRequired(asked: OtpRequired) {
  const error = unauthorized(
    'otp_required',
    'This tenant requires a second factor: POST /api/v1/auth/otp/verify/.',
  )
  Object.assign(error.members, asked)
  return error
}
