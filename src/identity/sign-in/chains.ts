import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { deleteSurplusFamilies, type FamilyRow, rotateFamily } from '../sessions/family-store.ts'
import type { SessionRow } from '../sessions/store.ts'
import {
  beginFamily,
  type CheckedSession,
  type Grant,
  hashOf,
  type IssueDeps,
  jtiOf,
  refreshExpiry,
} from './issue-tokens.ts'

/** What a chain of refresh tokens stands for. */
export interface Chain {
  /** The factors that were shown for it (RFC 8176). */
  amr: readonly string[]
  /** When a second factor was shown for it, in ms since 1970; null for `aal1`. */
  secondFactorAt: number | null
  /** Its absolute end, in ms since 1970: never after that of its session. */
  endsAt: number
}

/** The state of a chain. No chain, and one of an earlier release, are as their session was at its sign-in. */
export function chainOf(family: FamilyRow | null, session: SessionRow): Chain {
  const own = family !== null && family.amr !== null
  return {
    amr: family?.amr ?? session.amr,
    secondFactorAt: own ? family.second_factor_at : session.second_factor_at,
    endsAt: Math.min(family?.ends_at ?? session.expires_at, session.expires_at),
  }
}

// Each tenant switch begins a family. The limit keeps ending a session cheap.
const maxFamilies = 20

/**
 * Begins another chain of a session, in a tenant; deletes chains beyond {@link maxFamilies}. The transaction must hold the
 * session's row (see `lockSession`).
 */
export async function addFamily(
  deps: IssueDeps,
  tx: Tx,
  session: CheckedSession,
  now: number,
): Promise<Grant> {
  const grant = await beginFamily(deps, tx, session, now)
  const { familyId: newId } = grant
  await deleteSurplusFamilies(tx, { sessionId: session.sessionId, newId, kept: maxFamilies })
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
  session: CheckedSession,
  now: number,
): Promise<Grant | null> {
  if (family.ended || family.expires_at <= now) return null
  if (family.session_id !== session.sessionId || family.tenant_id !== session.tenantId) return null
  const { REFRESH_TOKEN_ROTATION: rotates, REFRESH_TOKEN_REUSE_GRACE_SECONDS: grace } = deps.config
  const live =
    !rotates || now - family.rotated_at <= grace * 1000 ? liveGrant(deps, family, session, now) : null
  return live ?? advanceFamily(deps, tx, family, session, now)
}

/**
 * Advances a chain by one token. The transaction must have read the chain behind the lock of its session (see
 * `lockSession`), which all that change a chain take first: so the update, which goes out with the commit, finds it.
 */
export async function advanceFamily(
  deps: IssueDeps,
  tx: Tx,
  { id: familyId, generation, jti_hash: jtiHash }: FamilyRow,
  session: CheckedSession,
  now: number,
): Promise<Grant> {
  const jti = jtiOf(deps, familyId, generation + 1)
  const refreshExpiresAt = refreshExpiry(deps, session, now)
  await rotateFamily(tx, {
    id: familyId,
    generation,
    jtiHash,
    nextJtiHash: hashOf(jti),
    at: now,
    expiresAt: refreshExpiresAt,
    rememberSince: now - deps.config.REFRESH_TOKEN_REUSE_GRACE_SECONDS * 1000,
  })
  return { session, familyId, generation: generation + 1, jti, issuedAt: now, refreshExpiresAt, at: now }
}

/** What a refresh token says. */
export interface RefreshClaims {
  familyId: string
  generation: number
  jti: string
  sessionId: string
  userId: string
}

/** Reads a refresh token. Throws 401 `token_not_valid` for a text that is none of this service. */
export async function readRefreshToken(
  { signer }: Pick<Deps, 'signer'>,
  token: string,
  now: number,
): Promise<RefreshClaims> {
  const { fid, gen, jti, sid, sub } = await signer.verify('refresh', token, now)
  return { familyId: fid, generation: gen, jti, sessionId: sid, userId: sub }
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
export function liveGrant(
  { sealer }: IssueDeps,
  family: FamilyRow,
  session: CheckedSession,
  now: number,
): Grant | null {
  const candidates = sealer
    .macs('refresh-jti', `${family.id}.${family.generation}`)
    .map((mac) => mac.toString('base64url'))
  const jti = candidates.find((candidate) => hashOf(candidate).equals(family.jti_hash))
  if (!jti) return null
  const { id: familyId, generation, rotated_at: issuedAt, expires_at: refreshExpiresAt } = family
  return { session, familyId, generation, jti, issuedAt, refreshExpiresAt, at: now }
}
