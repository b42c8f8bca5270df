import type { Tx } from '../../database/executor/transaction.ts'
import type { Connection } from '../../request/caller.ts'
import { lockIdentity, recordIdentityUse } from '../federated/store.ts'
import { forgiveAttempt } from '../otp/code-store.ts'
import { recordShown } from '../otp/store.ts'
import { recordPasskeyUse } from '../passkeys/store.ts'
import { type Attempt, clearPair } from '../rate-limits/store.ts'
import { lockActive, lockPassword } from '../users/store.ts'
import { holdConnection } from './way-store.ts'

/** What a person has just shown first. It was checked; the sign-in holds it, so that it stays valid until a session is open. */
export type FirstFactor = Password | Link | Passkey | Federated

interface Password {
  kind: 'password'
  /** The hash that the password was compared with. A reset ends every session that the old password opens. */
  passwordHash: string
  /** The counted attempt, which the sign-in takes back; null where none was counted. */
  attempt: Attempt | null
}

/** A link in a mail to the person's address. */
interface Link {
  kind: 'link'
}

interface Passkey {
  kind: 'passkey'
  id: string
  /** From the signed answer. Of parallel uses with one counter, only one is accepted. */
  counter: number
  backedUp: boolean
  /** A passkey that counts is a second factor at the same time. */
  counts: boolean
  /** When the attempt was counted that the sign-in takes back, in ms since 1970. */
  attemptedAt: number
}

/** The word of another provider, which named a linked identity. */
interface Federated {
  kind: 'federated'
  identityId: string
  /** The connection of a tenant that was asked; null: a provider of the installation. */
  connection: Connection | null
  /** When the person signed in there, in ms since 1970; 0: it did not say, so the sign-in is of no known age. */
  authTime: number
  /** When the provider saw a second factor that counts here (ms since 1970); null: none. */
  mfaAt: number | null
}

/** The connection by which it was shown; null: another way. */
export const connectionIn = (factor: FirstFactor): Connection | null =>
  factor.kind === 'federated' ? factor.connection : null

/** When the provider saw a second factor, in ms since 1970; null: none. */
export const upstreamMfaAt = (factor: FirstFactor): number | null =>
  factor.kind === 'federated' ? factor.mfaAt : null

/** When a factor that is shown at `now` was shown, in ms since 1970: a provider can answer without asking the person. */
export const shownAt = (factor: FirstFactor, now: number): number =>
  factor.kind === 'federated' ? factor.authTime : now

/** The `amr` of each (RFC 8176; `email` and `fed` are our own). */
export const amrOf: Record<FirstFactor['kind'], readonly string[]> = {
  password: ['pwd'],
  link: ['email'],
  passkey: ['pop', 'user'],
  federated: ['fed'],
}

/** Whether the factor is still its active person's; if so, it stays so until the transaction ends. As the system role. */
export async function holdFirstFactor(
  tx: Tx,
  { id, email }: { id: string; email: string },
  factor: FirstFactor,
): Promise<boolean> {
  switch (factor.kind) {
    case 'password':
      return lockPassword(tx, { id, passwordHash: factor.passwordHash })
    case 'link':
    case 'passkey':
      return lockActive(tx, { id, email })
    case 'federated': {
      if (factor.connection) holdConnection(tx, factor.connection)
      const held = await Promise.all([
        lockActive(tx, { id, email }),
        lockIdentity(tx, { id: factor.identityId, userId: id }),
      ])
      return held.every(Boolean)
    }
  }
}

/** Uses the factor up and takes its attempt back; false if it was used already. Hold it first. As the system role. */
export async function useFirstFactor(
  tx: Tx,
  userId: string,
  factor: FirstFactor,
  at: number,
): Promise<boolean> {
  switch (factor.kind) {
    case 'password':
      if (factor.attempt) clearPair(tx, factor.attempt)
      return true
    case 'link':
      return true
    case 'passkey': {
      const { id, counter, backedUp, attemptedAt } = factor
      if (!(await recordPasskeyUse(tx, { id, userId, counter, backedUp, at }))) return false
      await forgiveAttempt(tx, { userId, at: attemptedAt })
      return true
    }
    case 'federated':
      recordIdentityUse(tx, { id: factor.identityId, userId, at })
      return true
  }
}

/**
 * Records what showed a passkey that does not count yet, the first chain of the session or the sign-in that waits: a
 * factor that counts and is shown there makes it count. As the system role.
 */
export async function recordFirstFactor(
  tx: Tx,
  userId: string,
  factor: FirstFactor,
  signInId: string,
): Promise<void> {
  if (factor.kind === 'passkey' && !factor.counts)
    await recordShown(tx, { userId, deviceId: factor.id, signInId })
}
