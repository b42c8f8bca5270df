import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { algorithms, userHandleOf } from './ceremony.ts'
import type { NewCredential, UsedCredential } from './credential-schemas.ts'
import { relyingParty } from './relying-party.ts'
import type { Credential } from './store.ts'

// Loaded with the first passkey, because loading it takes longer than the rest of the start.
const webauthn = () => import('@simplewebauthn/server')

/** What a ceremony says about a passkey. */
interface Verified {
  counter: number
  backedUp: boolean
}

interface Answer<C> {
  requestInfo: RequestInfo
  credential: C
  /** The challenge that the service made and that is used up now. */
  challenge: Buffer
}

/**
 * Checks a new passkey (WebAuthn §7.1): challenge, origin, relying party, user verification, algorithm. Null, and a log
 * line with the reason, if it is refused.
 */
export async function verifyNewCredential(
  deps: Deps,
  { requestInfo, credential, challenge }: Answer<NewCredential>,
): Promise<(Verified & { credentialId: Buffer; publicKey: Buffer }) | null> {
  const { id, origins } = relyingParty(deps)
  return unlessRefused(deps, requestInfo, async () => {
    await assertNoCertificates(credential.response.attestationObject)
    const { verifyRegistrationResponse } = await webauthn()
    const { registrationInfo: made } = await verifyRegistrationResponse({
      response: { ...credential, clientExtensionResults: {} },
      expectedChallenge: challenge.toString('base64url'),
      expectedOrigin: origins,
      expectedRPID: id,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    })
    if (!made) throw new Error('The attestation is wrong')
    // The library takes the id from the authenticator's data; what the client claims must not differ.
    if (made.credential.id !== credential.id) throw new Error('The credential has another id')
    return {
      credentialId: Buffer.from(made.credential.id, 'base64url'),
      publicKey: Buffer.from(made.credential.publicKey),
      counter: made.credential.counter,
      backedUp: made.credentialBackedUp,
    }
  })
}

/**
 * The service asks for no attestation, and authenticators then send none, or sign with the new key itself. To check a
 * certificate, the library would fetch addresses that the certificate names.
 */
async function assertNoCertificates(attestationObject: string): Promise<void> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers')
  const decoded = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')))
  const format = decoded.get('fmt')
  if (format === 'none' || (format === 'packed' && !decoded.get('attStmt').get('x5c'))) return
  throw new Error(`Attestations of the format ${String(format)} are not accepted`)
}

/**
 * Checks a use of a known passkey (WebAuthn §7.2): challenge, origin, relying party, user verification, signature,
 * counter, and that it names its person, which it must if the request did not (`discovered`). Null, and a log line with
 * the reason, if it is refused.
 */
export async function verifyUsedCredential(
  deps: Deps,
  { requestInfo, credential, challenge }: Answer<UsedCredential>,
  known: Credential,
  { discovered }: { discovered: boolean },
): Promise<Verified | null> {
  const { id, origins } = relyingParty(deps)
  const { userHandle, ...response } = credential.response
  return unlessRefused(deps, requestInfo, async () => {
    if (
      (userHandle ?? (discovered ? '' : undefined)) !== undefined &&
      userHandle !== userHandleOf(known.user_id)
    )
      throw new Error('The passkey names another person')
    const { verifyAuthenticationResponse } = await webauthn()
    const { verified, authenticationInfo: used } = await verifyAuthenticationResponse({
      response: { ...credential, response, clientExtensionResults: {} },
      expectedChallenge: challenge.toString('base64url'),
      expectedOrigin: origins,
      expectedRPID: id,
      requireUserVerification: true,
      credential: {
        id: credential.id,
        publicKey: new Uint8Array(known.public_key),
        counter: known.counter,
      },
    })
    if (!verified) throw new Error('The signature is wrong')
    return { counter: used.newCounter, backedUp: used.credentialBackedUp }
  })
}

/** The library throws for everything that is wrong in a credential, malformed bytes included. */
async function unlessRefused<T>(
  { log }: Deps,
  { requestId }: RequestInfo,
  check: () => Promise<T>,
): Promise<T | null> {
  try {
    return await check()
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 300) : 'unknown'
    log.info({ request_id: requestId, reason }, 'a passkey was refused')
    return null
  }
}
