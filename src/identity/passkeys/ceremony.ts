import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { channelDisabled } from '../otp/channels.ts'
import type { ChallengeScope } from './store.ts'
import { insertChallenge, type listCredentialIds } from './store.ts'

// A ceremony begins with a challenge, which is stored, and ends with a credential that answers it (WebAuthn §7). Synced
// passkeys keep no counter, so the challenge, which works once, is what stops a replay.

/**
 * Throws 403 `channel_disabled` if passkeys are off. They sign people in even if OTP_ENABLED is off, which switches second
 * factors off.
 */
export function assertPasskeysOn({ config }: Pick<Deps, 'config'>): void {
  if (!config.PASSKEYS_ENABLED) throw channelDisabled()
}

const lifeMs = 300_000
const challengeBytes = 32

/**
 * 400, the same for every reason, so that it shows neither which credentials exist nor what was wrong. `field` is the
 * member of the body that says false, for a client that reads only this.
 */
export const passkeyInvalid = (field?: 'verified') =>
  new ApiError(
    400,
    'passkey_invalid',
    'This passkey was not accepted: it is unknown here, or its answer is wrong, too old, or was used. Begin again.',
    field && { members: { [field]: false } },
  )

/** Stores a new challenge of this scope; returns it as base64url. `at` in ms since 1970. */
export async function makeChallenge(tx: Tx, scope: ChallengeScope, at: number): Promise<string> {
  const challenge = randomBytes(challengeBytes)
  await insertChallenge(tx, { ...scope, challenge, expiresAt: at + lifeMs })
  return challenge.toString('base64url')
}

const clientData = z.object({ challenge: z.string(), crossOrigin: z.literal(false).optional() })

/**
 * The challenge that a credential answers; null if its clientDataJSON is not readable, has no challenge of ours, or comes
 * from a frame in another site's page.
 */
export function challengeIn(clientDataJSON: string): Buffer | null {
  const read = clientData.safeParse(parse(Buffer.from(clientDataJSON, 'base64url').toString()))
  if (!read.success) return null
  const challenge = Buffer.from(read.data.challenge, 'base64url')
  return challenge.length === challengeBytes ? challenge : null
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

type Handles = Awaited<ReturnType<typeof listCredentialIds>>

/** Passkeys as the options of a ceremony name them. */
export const descriptorsOf = (handles: Handles) =>
  handles.map(({ credential_id: id, transports }) => ({
    id: id.toString('base64url'),
    type: 'public-key' as const,
    transports,
  }))

/** Options of `navigator.credentials.get()`; without `handles`, the person chooses among all passkeys of the site. */
export const requestOptionsFor = (rpId: string, challenge: string, handles: Handles = []) => ({
  challenge,
  rpId,
  timeout: lifeMs,
  userVerification: 'required' as const,
  allowCredentials: descriptorsOf(handles),
})

/** The algorithms of passkeys, by their COSE numbers: EdDSA, ES256, RS256. */
export const algorithms = [-8, -7, -257]

interface CreationFor {
  rp: { id: string; name: string }
  person: { userId: string; email: string; displayName: string }
  challenge: string
  handles: Handles
}

/** Options of `navigator.credentials.create()`, for a passkey that names its person by itself. */
export const creationOptionsFor = ({ rp, person, challenge, handles }: CreationFor) => ({
  challenge,
  rp,
  user: {
    id: userHandleOf(person.userId),
    name: person.email,
    displayName: person.displayName || person.email,
  },
  pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key' as const, alg })),
  timeout: lifeMs,
  attestation: 'none' as const,
  excludeCredentials: descriptorsOf(handles),
  authenticatorSelection: {
    residentKey: 'required' as const,
    requireResidentKey: true as const,
    userVerification: 'required' as const,
  },
})

/** The user handle in a passkey: the person's id as bytes, in base64url. It holds nothing about the person. */
export const userHandleOf = (userId: string): string =>
  Buffer.from(userId.replaceAll('-', ''), 'hex').toString('base64url')
