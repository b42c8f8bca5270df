import { createHash, createPrivateKey, sign } from 'node:crypto'
import {
  AuthenticatorEmulator,
  PasskeysCredentialsMemoryRepository,
  WebAuthnEmulator,
} from 'nid-webauthn-emulator'
import { type Answer, type Client, claimsOf, type Service } from '../../helpers/service.ts'

const api = '/api/v1/auth/passkeys'

/** The origin under which a browser opens the service of a test. */
export const originOf = ({ url }: Pick<Service, 'url'>): string => `http://localhost:${new URL(url).port}`

// biome-ignore lint/suspicious/noExplicitAny: options and credentials as JSON
type Json = any

/** What an attacker changes before the authenticator's key signs. */
export interface Forgery {
  clientData?: Record<string, unknown>
  /** Changes the authenticator data: RP id hash (32 bytes), flags (1), counter (4). */
  data?(bytes: Buffer): void
}

/** An authenticator in software whose passkeys a page of `origin` uses. `counting`: its counter rises with each use. */
export function softwareAuthenticator(origin: string, { counting = true } = {}) {
  const store = new PasskeysCredentialsMemoryRepository()
  const emulator = new WebAuthnEmulator(
    new AuthenticatorEmulator({ credentialsRepository: store, signCounterIncrement: counting ? 1 : 0 }),
  )
  const get = (options: Json, from = origin): Json => emulator.getJSON(from, options)
  return {
    create: (options: Json, from = origin): Json => emulator.createJSON(from, options),
    get,
    /** A use of a passkey with other content than the service asked for, signed by the passkey's own key. */
    forge(options: Json, { clientData = {}, data }: Forgery): Json {
      const credential = get(options)
      const { response } = credential
      const told = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString())
      const clientDataJSON = Buffer.from(JSON.stringify({ ...told, ...clientData }))
      const authenticatorData = Buffer.from(response.authenticatorData, 'base64url')
      data?.(authenticatorData)
      const held = store
        .loadCredentials()
        .find(
          ({ publicKeyCredentialSource: { id } }) => Buffer.from(id).toString('base64url') === credential.id,
        )
      const key = createPrivateKey({
        key: Buffer.from(held!.publicKeyCredentialSource.privateKey),
        format: 'der',
        type: 'pkcs8',
      })
      const hash = createHash('sha256').update(clientDataJSON).digest()
      const signature = sign('sha256', Buffer.concat([authenticatorData, hash]), key)
      const changed = { clientDataJSON, authenticatorData, signature }
      const encoded = Object.entries(changed).map(([name, bytes]) => [name, bytes.toString('base64url')])
      return { ...credential, response: { ...response, ...Object.fromEntries(encoded) } }
    },
  }
}

export type Authenticator = ReturnType<typeof softwareAuthenticator>

const expect = async (status: number, answer: Promise<Answer>): Promise<Json> => {
  const { status: was, body } = await answer
  if (was !== status) throw new Error(`Expected ${status}, got ${was} ${JSON.stringify(body)}`)
  return body
}

/** Registers a passkey for a person, on a new authenticator unless one is given. */
export async function registerPasskey(
  service: Service,
  person: Client,
  { authenticator = softwareAuthenticator(originOf(service)), name = 'Laptop' } = {},
) {
  const options = await expect(200, person.post(`${api}/registration/`, {}))
  const credential = authenticator.create(options)
  const passkey = await expect(201, person.post(`${api}/`, { name, credential }))
  return { authenticator, passkey, credential }
}

/** The options of a sign-in. */
export const signInOptions = (service: Service): Promise<Json> =>
  expect(200, service.call('POST', `${api}/login/options/`))

/** Signs in with a passkey; returns any answer. */
export async function attemptPasskey(
  service: Service,
  authenticator: Pick<Authenticator, 'get'>,
  body: { tenant_id?: string } = {},
): Promise<Answer> {
  const credential = authenticator.get(await signInOptions(service))
  return service.call('POST', `${api}/login/`, { body: { credential, ...body } })
}

/** Shows a passkey as a second factor with a token; returns any answer. */
export async function verifyPasskey(
  service: Service,
  authenticator: Pick<Authenticator, 'get'>,
  token: string,
): Promise<Answer> {
  const options = await expect(200, service.call('POST', `${api}/verify/options/`, { token }))
  return service.call('POST', `${api}/verify/`, { token, body: { credential: authenticator.get(options) } })
}

/** The class and methods of an access token. */
export const strengthOf = ({ body }: Answer) => {
  const { acr, amr } = claimsOf(body.access)
  return { acr, amr }
}
