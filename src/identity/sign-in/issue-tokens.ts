import { hash } from 'node:crypto'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { unauthorized } from '../../errors.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { WithCredentials } from '../../request/answer/with-credentials.ts'
import type { Connection } from '../../request/caller.ts'
import type { DeviceType } from '../otp/channels.ts'
import { insertFamily } from '../sessions/family-store.ts'
import type { Acting, HandedOut } from './outcome.ts'
import type { Challenge, SecondFactorSettled } from './second-factor.ts'
import type { WayOpen } from './way-in.ts'

/** A session that may have tokens for a tenant: it has passed every check. */
export interface CheckedSession {
  sessionId: string
  userId: string
  email: string
  tenantId: string
  roles: readonly string[]
  /** The factors that were shown for the chain. */
  amr: readonly string[]
  /** Times are in ms since 1970; `secondFactorAt` is null for `aal1`, and `expiresAt` the absolute end of the chain. */
  authTime: number
  secondFactorAt: number | null
  expiresAt: number
  /** The connection by which it began; null: another way. */
  connection: Connection | null
  way: WayOpen
  settled: SecondFactorSettled
}

export type IssueDeps = Pick<Deps, 'config' | 'sealer' | 'signer'>

/** A refresh token of a chain (a "family"): stored in the database, not signed yet. */
export interface Grant {
  session: CheckedSession
  familyId: string
  generation: number
  jti: string
  issuedAt: number
  refreshExpiresAt: number
  /** When the session was checked: the access token is issued then. All times are in ms since 1970. */
  at: number
}

/**
 * Begins a chain of refresh tokens of a session that the transaction inserted. Sign the grant after the transaction has
 * committed. chains.ts has what happens to a chain later.
 */
export async function beginFamily(
  deps: IssueDeps,
  tx: Tx,
  session: CheckedSession,
  now: number,
): Promise<Grant> {
  const familyId = timeOrderedId(now)
  const jti = jtiOf(deps, familyId, 0)
  const refreshExpiresAt = refreshExpiry(deps, session, now)
  const { sessionId, userId, tenantId, amr, secondFactorAt, expiresAt } = session
  await insertFamily(tx, {
    id: familyId,
    sessionId,
    userId,
    tenantId,
    jtiHash: hashOf(jti),
    amr,
    secondFactorAt,
    at: now,
    expiresAt: refreshExpiresAt,
    endsAt: expiresAt,
  })
  return { session, familyId, generation: 0, jti, issuedAt: now, refreshExpiresAt, at: now }
}

/** The tokens in each answer that logs a person in. */
export interface TokenPair {
  access: string
  refresh: string
}

/** The answer in place of tokens. */
export interface OtpRequired {
  otp_required: true
  temporary_token: string
  expires_in: number
  methods: DeviceType[]
}

/**
 * Gives an answer its tokens, for a client that holds them. Throws 401 `otp_required`, with a temporary token, for a session
 * that asked for the tokens of a tenant where a second factor is due.
 */
export const tokenIssuer =
  (deps: IssueDeps) =>
  async ({ opened, body }: WithCredentials<HandedOut>): Promise<object> => ({
    ...body,
    ...(await tokensOf(deps, opened)),
  })

/** The members of an answer that sign its client in. */
export async function tokensOf(
  deps: IssueDeps,
  outcome: HandedOut,
): Promise<TokenPair | OtpRequired | Impersonation | undefined> {
  switch (outcome.kind) {
    case 'opened':
    case 'continued':
      return issueTokens(deps, outcome.grant)
    case 'factor_due': {
      const asked = await signChallenge(deps, outcome.challenge)
      if (outcome.challenge.entry.session) throw otpRequired(asked)
      return asked
    }
    case 'acting':
      return issueImpersonation(deps, outcome)
    case 'renewed':
      return undefined
  }
}

/** The only function that signs full tokens. Callers can only reach it with a {@link CheckedSession}. */
async function issueTokens(
  { config, signer }: IssueDeps,
  { session, familyId, generation, jti, issuedAt, refreshExpiresAt, at }: Grant,
): Promise<TokenPair> {
  const common = { sub: session.userId, sid: session.sessionId, tenant_id: session.tenantId }
  const [access, refresh] = await Promise.all([
    signer.sign('access', {
      ...common,
      user_id: session.userId,
      email: session.email,
      roles: session.roles,
      fid: familyId,
      jti: timeOrderedId(at),
      iat: seconds(at),
      exp: Math.min(seconds(at) + config.ACCESS_TOKEN_VALIDITY_SECONDS, seconds(session.expiresAt)),
      auth_time: seconds(session.authTime),
      acr: acrOf(session),
      amr: session.amr,
    }),
    signer.sign('refresh', {
      ...common,
      fid: familyId,
      gen: generation,
      jti,
      iat: seconds(issuedAt),
      exp: seconds(refreshExpiresAt),
    }),
  ])
  return { access, refresh }
}

/** Signs the temporary token of a sign-in that waits. Call it after the transaction has committed. */
async function signChallenge(
  { config, signer }: IssueDeps,
  { pendingId, entry, methods, at }: Challenge,
): Promise<OtpRequired> {
  const validity = config.OTP_TEMPORARY_TOKEN_VALIDITY_SECONDS
  const token = await signer.sign('otp_pending', {
    sub: entry.userId,
    sid: pendingId,
    tenant_id: entry.tenantId,
    jti: timeOrderedId(at),
    iat: seconds(at),
    exp: seconds(at) + validity,
  })
  return { otp_required: true, temporary_token: token, expires_in: validity, methods }
}

/** 401 for a request that asked for the tokens of a tenant, with what shows the factor that is due. */
export function otpRequired(asked: object) {
  const error = unauthorized(
    'otp_required',
    'This tenant requires a second factor: POST /api/v1/auth/otp/verify/.',
  )
  Object.assign(error.members, asked)
  return error
}

/** The token of a caller who acts as a member, and its life in seconds. It has no refresh token. */
interface Impersonation {
  access: string
  expires_in: number
}

/** Signs the token of an impersonation: the member's claims, in session and chain of the caller, who is `act`. */
async function issueImpersonation(
  { signer }: IssueDeps,
  { actor, member, at, until }: Acting,
): Promise<Impersonation> {
  const { userId: actorId, sessionId, familyId, tenantId, auth } = actor
  const access = await signer.sign('access', {
    sub: member.userId,
    sid: sessionId,
    tenant_id: tenantId,
    user_id: member.userId,
    roles: member.roles,
    ...(familyId !== null && { fid: familyId }),
    jti: timeOrderedId(at),
    iat: seconds(at),
    exp: seconds(until),
    auth_time: seconds(auth.session.authTime),
    acr: auth.session.acr,
    amr: auth.session.amr,
    act: { sub: actorId },
  })
  return { access, expires_in: seconds(until) - seconds(at) }
}

/** The class of a chain: `aal2` from its second factor on. */
export const acrOf = ({ secondFactorAt }: { secondFactorAt: number | null }) =>
  secondFactorAt === null ? 'aal1' : 'aal2'

const seconds = (ms: number) => Math.floor(ms / 1000)

export const hashOf = (jti: string) => hash('sha256', jti, 'buffer')

/** Derived, not random: a retry within the grace time gets the same successor although only hashes are stored. */
export const jtiOf = ({ sealer }: Pick<Deps, 'sealer'>, familyId: string, generation: number) =>
  sealer.mac('refresh-jti', `${familyId}.${generation}`).toString('base64url')

export const refreshExpiry = (
  { config }: Pick<Deps, 'config'>,
  { expiresAt }: Pick<CheckedSession, 'expiresAt'>,
  now: number,
) => Math.min(now + config.REFRESH_TOKEN_VALIDITY_SECONDS * 1000, expiresAt)
