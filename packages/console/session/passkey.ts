import type { PasskeyCreationOptions, PasskeyRequestOptions } from '@bailiwick/client'
import { Problem } from '@bailiwick/client'

// The forms of WebAuthn as JSON, which browsers read and write themselves.

/** Whether this browser can use passkeys. */
export const canUsePasskeys = (): boolean =>
  typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential

/** Credentials in the form that the API takes. */
type Used = { id: string; rawId: string; type: 'public-key'; response: UsedResponse }
type UsedResponse = {
  clientDataJSON: string
  authenticatorData: string
  signature: string
  userHandle?: string | null
}
type Made = { id: string; rawId: string; type: 'public-key'; response: MadeResponse }
type MadeResponse = { clientDataJSON: string; attestationObject: string; transports?: string[] }

/** Lets the person use one of their passkeys. Throws a {@link Problem} if they do not. */
export async function usePasskey(options: PasskeyRequestOptions): Promise<Used> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as never)
  const credential = await navigator.credentials.get({ publicKey }).catch(refusedAt(publicKey.rpId))
  return (credential as PublicKeyCredential).toJSON() as Used
}

/** Lets the person make a passkey. Throws a {@link Problem} if they do not. */
export async function makePasskey(options: PasskeyCreationOptions): Promise<Made> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as never)
  const credential = await navigator.credentials.create({ publicKey }).catch(refusedAt(publicKey.rp.id))
  return (credential as PublicKeyCredential).toJSON() as Made
}

const refusedAt =
  (host = '') =>
  (error: unknown): never => {
    const cause = error instanceof DOMException ? error.name : ''
    throw new Problem(400, { detail: details[cause]?.(host) ?? given })
  }

const given = 'No passkey was given. Try again, or use another way.'
const details: Readonly<Record<string, (host: string) => string>> = {
  InvalidStateError: () => 'This device has a passkey for your account already.',
  // The browser does not ask for it at another address.
  SecurityError: (host) =>
    `Passkeys work at ${host}, and this page is at ${location.hostname}. Open the console there.`,
}
