import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Connection } from '../../request/caller.ts'
import type { Membership } from '../../tenancy/members/store.ts'
import {
  beganByMail,
  canEnrolFirst,
  channelDisabled,
  type DeviceType,
  mailboxShownAlready,
  usableMethods,
} from '../otp/channels.ts'
import { type Factors, findFactors } from '../otp/store.ts'
import { type Refused, refused } from './outcome.ts'
import { endOldestPendingSessions, insertPendingSession } from './pending-store.ts'

declare const answered: unique symbol

/** Proof that the service checked for a second factor and none is due. Full tokens cannot be issued without it. */
export interface SecondFactorSettled {
  readonly [answered]: true
}

const settled = {} as SecondFactorSettled

// Ending a person's sessions ends every waiting sign-in too, so their number is limited.
const maxPending = 100

/** The proof for a session that has just shown a second factor. */
export const settledByFactor = (_shown: DeviceType): SecondFactorSettled => settled

/** A person who is about to get tokens for a tenant. */
export interface Entry {
  userId: string
  tenantId: string
  /** The tenant setting `require_mfa`. */
  tenantRequires: boolean
  /**
   * The session that enters, and the end of the chain that it would get (ms since 1970); null at a sign-in, to which the
   * demands of the person and the service also apply.
   */
  session: { id: string; endsAt: number } | null
  /** The factors shown so far (RFC 8176), */
  amr: readonly string[]
  /** and whether there is a second one among them: docs/explanation/second-factors.md. */
  secondFactor: 'none' | 'not_counting' | 'counting'
  /** ms since 1970 */
  authTime: number
  /** By which it began; null: by another way. */
  connection: Connection | null
}

/** Whether a second factor is due, and by which methods the person can show one. */
export type SecondFactor =
  | { kind: 'settled'; proof: SecondFactorSettled }
  | { kind: 'factor_due'; entry: Entry; methods: DeviceType[] }
  | Refused

/** A sign-in that waits for a second factor: stored in the database, its temporary token not signed yet. */
export interface Challenge {
  pendingId: string
  entry: Entry
  methods: DeviceType[]
  /** When it was opened, in ms since 1970. */
  at: number
}

/**
 * Checks whether a second factor is due. Refuses with 403 `channel_disabled` if one is due and the person can neither
 * show nor set up one: switching a channel off must not weaken an account.
 */
export function checkSecondFactor(
  { config }: Pick<Deps, 'config'>,
  entry: Entry,
  factors: Factors,
): SecondFactor {
  const { session, tenantRequires, secondFactor } = entry
  if (!config.OTP_ENABLED || secondFactor === 'counting') return { kind: 'settled', proof: settled }
  const enrolled = (factors.totp || factors.passkey) && config.OTP_REQUIRED_WHEN_ENROLLED
  const demandedAtLogin = session === null && (config.OTP_REQUIRED_FOR_LOGIN || enrolled)
  const counting = tenantRequires || demandsAtLogin(config, factors)
  const demanded = secondFactor === 'not_counting' ? counting : tenantRequires || demandedAtLogin
  if (!demanded) return { kind: 'settled', proof: settled }
  const byMail = beganByMail(entry.amr)
  const shownable = byMail ? { ...factors, mailed_codes_count: false } : factors
  const methods = usableMethods(config, shownable, counting)
  // Who controls the provider of a connection could enrol a factor in the name of its people.
  const canEnrol = entry.connection === null && canEnrolFirst(config, factors)
  if (methods.length === 0 && !canEnrol) return refused(byMail ? mailboxShownAlready() : channelDisabled())
  return { kind: 'factor_due', entry, methods }
}

/** Stores a sign-in that waits for the factor. As the system role. */
export async function openChallenge(
  { config }: Pick<Deps, 'config'>,
  tx: Tx,
  { entry, methods }: Pick<Challenge, 'entry' | 'methods'>,
  now: number,
): Promise<Challenge> {
  const pendingId = timeOrderedId(now)
  const { userId, tenantId, session, amr, authTime, connection } = entry
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
    connection,
  })
  await endOldestPendingSessions(tx, { userId, sessionId, kept: maxPending, at: now })
  return { pendingId, entry, methods, at: now }
}

/** Whether a login demands a factor that counts: one that does not count yet is no match for a passkey or an app that does. */
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
  return (
    membership.requires_mfa || membership.requires_sso || factors === null || demandsAtLogin(config, factors)
  )
}
