import { hash } from 'node:crypto'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import {
  deleteSurplusFamilies,
  type FamilyRow,
  insertFamily,
  rotateFamily,
} from '../sessions/family-store.ts'
import type { SecondFactorSettled } from './second-factor.ts'

/** The tokens in each answer that logs a person in. */
export interface TokenPair {
  access: string
  refresh: string
}

/** A session that is entitled to tokens for a tenant: it has passed every check. */
export interface Entitled {
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
  settled: SecondFactorSettled
}

type IssueDeps = Pick<Deps, 'config' | 'sealer' | 'signer'>

/** A refresh token of a chain (a "family"): stored in the database, not signed yet. */
export interface Grant {
  entitled: Entitled
  familyId: string
  generation: number
  jti: string
  issuedAt: number
  refreshExpiresAt: number
}

/**
 * Begins the first chain of refresh tokens of a session that the transaction inserted. Sign the grant after the
 * transaction has committed.
 */
export async function beginFamily(deps: IssueDeps, tx: Tx, entitled: Entitled, now: number): Promise<Grant> {
  const familyId = timeOrderedId(now)
  const jti = jtiOf(deps, familyId, 0)
  const refreshExpiresAt = refreshExpiry(deps, entitled, now)
  const { sessionId, userId, tenantId, amr, secondFactorAt, expiresAt } = entitled
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
  return { entitled, familyId, generation: 0, jti, issuedAt: now, refreshExpiresAt }
}

// Each tenant switch begins a family. The limit keeps ending a session cheap.
const maxFamilies = 20

/**
 * Begins another chain of a session, in a tenant; deletes chains beyond {@link maxFamilies}. The transaction must hold the
 * session's row (see `lockSession`).
 */
export async function addFamily(deps: IssueDeps, tx: Tx, entitled: Entitled, now: number): Promise<Grant> {
  const grant = await beginFamily(deps, tx, entitled, now)
  const { familyId: newId } = grant
  await deleteSurplusFamilies(tx, { sessionId: entitled.sessionId, newId, kept: maxFamilies })
  return grant
}

/**
 * New tokens from a chain that the session already has, so that no second chain begins; null unless it is a live chain
 * of this session and tenant, read behind the lock of the session. A chain that advanced within the grace time returns its live token, so that
 * parallel calls all get the same one.
 */
export async function renewFamily(
  deps: IssueDeps,
  tx: Tx,
  family: FamilyRow,
  entitled: Entitled,
  now: number,
): Promise<Grant | null> {
  if (family.ended || family.expires_at <= now) return null
  if (family.session_id !== entitled.sessionId || family.tenant_id !== entitled.tenantId) return null
  const { REFRESH_TOKEN_ROTATION: rotates, REFRESH_TOKEN_REUSE_GRACE_SECONDS: grace } = deps.config
  const live = !rotates || now - family.rotated_at <= grace * 1000 ? liveGrant(deps, family, entitled) : null
  return live ?? advanceFamily(deps, tx, family, entitled, now)
}

/**
 * Advances a chain by one token. The transaction must have read the chain behind the lock of its session (see
 * `lockSession`), which all that change a chain take first: so the update, which goes out with the commit, finds it.
 */
export async function advanceFamily(
  deps: IssueDeps,
  tx: Tx,
  { id: familyId, generation, jti_hash: jtiHash }: FamilyRow,
  entitled: Entitled,
  now: number,
): Promise<Grant> {
  const jti = jtiOf(deps, familyId, generation + 1)
  const refreshExpiresAt = refreshExpiry(deps, entitled, now)
  await rotateFamily(tx, {
    id: familyId,
    generation,
    jtiHash,
    nextJtiHash: hashOf(jti),
    at: now,
    expiresAt: refreshExpiresAt,
    rememberSince: now - deps.config.REFRESH_TOKEN_REUSE_GRACE_SECONDS * 1000,
  })
  return { entitled, familyId, generation: generation + 1, jti, issuedAt: now, refreshExpiresAt }
}

/** Whether the presented token is the live token of its chain. */
export const isLive = (family: FamilyRow, presented: { generation: number; jti: string }): boolean =>
  family.generation === presented.generation && hashOf(presented.jti).equals(family.jti_hash)

/** Whether the presented token is the live token of its chain, or was until the grace time began. `now` in ms. */
export const isShown = (
  { config }: IssueDeps,
  family: FamilyRow,
  presented: { generation: number; jti: string },
  now: number,
): boolean =>
  isLive(family, presented) ||
  (presented.generation === family.generation - 1 &&
    now - family.rotated_at <= config.REFRESH_TOKEN_REUSE_GRACE_SECONDS * 1000)

/** The live token of a chain again, for a client that lost the answer; null if no key of SECRET_KEYS derives it. */
export function liveGrant({ sealer }: IssueDeps, family: FamilyRow, entitled: Entitled): Grant | null {
  const candidates = sealer
    .macs('refresh-jti', `${family.id}.${family.generation}`)
    .map((mac) => mac.toString('base64url'))
  const jti = candidates.find((candidate) => hashOf(candidate).equals(family.jti_hash))
  if (!jti) return null
  const { id, generation, rotated_at, expires_at } = family
  return { entitled, familyId: id, generation, jti, issuedAt: rotated_at, refreshExpiresAt: expires_at }
}

/** The only function that signs full tokens. Callers can only reach it with an {@link Entitled} session. */
export async function issueTokens(
  { config, signer }: IssueDeps,
  grant: Grant,
  now: number,
): Promise<TokenPair> {
  const { entitled, familyId, generation, jti } = grant
  const common = { sub: entitled.userId, sid: entitled.sessionId, tenant_id: entitled.tenantId }
  const [access, refresh] = await Promise.all([
    signer.sign('access', {
      ...common,
      user_id: entitled.userId,
      email: entitled.email,
      roles: entitled.roles,
      fid: familyId,
      jti: timeOrderedId(now),
      iat: seconds(now),
      exp: Math.min(seconds(now) + config.ACCESS_TOKEN_VALIDITY_SECONDS, seconds(entitled.expiresAt)),
      auth_time: seconds(entitled.authTime),
      acr: acrOf(entitled),
      amr: entitled.amr,
    }),
    signer.sign('refresh', {
      ...common,
      fid: familyId,
      gen: generation,
      jti,
      iat: seconds(grant.issuedAt),
      exp: seconds(grant.refreshExpiresAt),
    }),
  ])
  return { access, refresh }
}

/** The token of a caller who acts as a member, and its life in seconds. It has no refresh token. */
export interface Impersonation {
  access: string
  expires_in: number
}

const impersonationSeconds = 900

/**
 * Signs the token of an impersonation: the member's claims, in session and chain of the caller, who is `act` (RFC 8693 §4.1).
 * The caller must have passed every check of `impersonate`.
 */
export async function issueImpersonation(
  { signer }: Pick<IssueDeps, 'signer'>,
  { userId: actorId, sessionId, familyId, tenantId, auth: { session } }: Caller,
  member: { userId: string; roles: readonly string[] },
  now: number,
): Promise<Impersonation> {
  const access = await signer.sign('access', {
    sub: member.userId,
    sid: sessionId,
    tenant_id: tenantId,
    user_id: member.userId,
    roles: member.roles,
    ...(familyId !== null && { fid: familyId }),
    jti: timeOrderedId(now),
    iat: seconds(now),
    exp: seconds(now) + impersonationSeconds,
    auth_time: seconds(session.authTime),
    acr: session.acr,
    amr: session.amr,
    act: { sub: actorId },
  })
  return { access, expires_in: impersonationSeconds }
}

/** The class of a chain: `aal2` from its second factor on. */
export const acrOf = ({ secondFactorAt }: { secondFactorAt: number | null }) =>
  secondFactorAt === null ? 'aal1' : 'aal2'

const seconds = (ms: number) => Math.floor(ms / 1000)

const hashOf = (jti: string) => hash('sha256', jti, 'buffer')

/** Derived, not random: a retry within the grace time gets the same successor although only hashes are stored. */
const jtiOf = ({ sealer }: IssueDeps, familyId: string, generation: number) =>
  sealer.mac('refresh-jti', `${familyId}.${generation}`).toString('base64url')

const refreshExpiry = ({ config }: IssueDeps, entitled: Entitled, now: number) =>
  Math.min(now + config.REFRESH_TOKEN_VALIDITY_SECONDS * 1000, entitled.expiresAt)
