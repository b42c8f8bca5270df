import { exportJWK, generateKeyPair } from 'jose'
import * as oidc from 'openid-client'
import { readClientId } from '../../src/oauth/clients/client-id.ts'
import type { Client, Service } from '../helpers/service.ts'
import { openPages } from '../pages/sign-in/page-client.ts'
import { expect } from '../tenancy/staff.ts'

export const callback = 'https://app.example.com/callback'

/** What the library throws for a code or token that does not work. */
export const invalidGrant = { error: 'invalid_grant' } as unknown as Error

/** An application of the owner's tenant, as a library for relying parties sees the service. `proof`: in place of a secret. */
export async function openApplication(
  service: Service,
  owner: Client,
  more: object = {},
  proof?: oidc.ClientAuth,
) {
  const client = await expect(
    201,
    owner.post('/api/v1/oauth-clients/', { name: 'Shop', redirect_uris: [callback], ...more }),
  )
  const hasSecret = client.token_endpoint_auth_method.startsWith('client_secret_')
  const secret = !hasSecret
    ? undefined
    : (await expect(201, owner.post(`/api/v1/oauth-clients/${client.id}/secrets/`))).secret
  const issuer = new URL(service.deps.publicUrl())
  const authentication = proof ?? (hasSecret ? oidc.ClientSecretBasic(secret) : oidc.None())
  const config = await oidc.discovery(issuer, client.id, undefined, authentication, {
    execute: [oidc.allowInsecureRequests],
  })
  return { client, secret: secret as string, config }
}

export type Application = Awaited<ReturnType<typeof openApplication>>

/** A service account with these roles, and a machine that acts as it. */
export async function openMachine(
  service: Service,
  by: Client,
  {
    roles = ['auditor'],
    proof,
    ...more
  }: { roles?: string[]; proof?: oidc.ClientAuth; [field: string]: unknown } = {},
) {
  const made = by.post('/api/v1/service-accounts/', { name: crypto.randomUUID(), roles })
  const account = await expect(201, made)
  const machine = { kind: 'machine', redirect_uris: [], scopes: ['member:list', 'role:create'] }
  const given = { ...machine, service_account_id: account.id, ...more }
  return { account, ...(await openApplication(service, by, given, proof)) }
}

/** A key of an application for `private_key_jwt`. */
export async function keyOf(alg: string) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid: `${alg}-1` } }
}

/** The header by which an application shows its secret. */
export const basicOf = ({ client, secret }: { client: { id: string }; secret: string }) => ({
  Authorization: `Basic ${Buffer.from(`${client.id}:${secret}`).toString('base64')}`,
})

/** Sends a form as a program does. */
export async function postForm(
  { url }: Pick<Service, 'url'>,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
) {
  const answer = await fetch(url + path, { method: 'POST', body: new URLSearchParams(fields), headers })
  // biome-ignore lint/suspicious/noExplicitAny: JSON
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as any }
}

/** A request of an application, with what it keeps to check the answer. `build`: another way to make its URL. */
export async function request(
  { config }: Pick<Application, 'config'>,
  more: Record<string, string> = {},
  build: (
    ...asked: Parameters<typeof oidc.buildAuthorizationUrl>
  ) => URL | Promise<URL> = oidc.buildAuthorizationUrl,
) {
  const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
  const checks = { pkceCodeVerifier, expectedState: oidc.randomState(), expectedNonce: oidc.randomNonce() }
  const url = await build(config, {
    redirect_uri: callback,
    scope: 'openid profile email',
    code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: checks.expectedState,
    nonce: checks.expectedNonce,
    ...more,
  })
  return { path: `${url.pathname}${url.search}`, checks }
}

/** A browser without a session. */
export const openBrowser = (service: Service) => openPages(service)
export type Browser = ReturnType<typeof openBrowser>

/** Types a person's address and password, on the page that asks for the address. Gives where it leads. */
export async function signIn(browser: Browser, { email, password }: Pick<Client, 'email' | 'password'>) {
  await browser.send({ email })
  return browser.send({ password })
}

const tenantOf = (path: string) =>
  readClientId(new URLSearchParams(path.split('?')[1]).get('client_id')!)!.tenantId

/** From a request to the address that the application gets, with all that the pages ask for on the way. */
export async function authorize(browser: Browser, person: Client, path: string): Promise<URL> {
  const trail: string[] = []
  let seen = await browser.visit(path)
  for (let step = 0; step < 8; step++) {
    const to = seen.refresh
    trail.push(`${seen.status} ${seen.title} ${to}`)
    if (to && URL.canParse(to) && !to.includes('/oauth/authorize')) return new URL(to)
    if (to) seen = await browser.visit(to)
    else if (/name="email"/.test(seen.text) && !/name="password"/.test(seen.text))
      seen = await signIn(browser, person)
    else if (/name="tenant_id"/.test(seen.text)) seen = await browser.send({ tenant_id: tenantOf(path) })
    else if (/name="decision"/.test(seen.text)) seen = await browser.send({ decision: 'allow' })
    else throw new Error(`The pages lead nowhere:\n${seen.status} ${seen.text}`)
  }
  throw new Error(`The pages lead in a circle: ${trail.join(', ')}`)
}

/** The tokens of a person who signs in to the application. */
export async function tokensFor(
  service: Service,
  application: Application,
  person: Client,
  more: Record<string, string> = {},
) {
  const browser = openBrowser(service)
  const { path, checks } = await request(application, more)
  const answer = await authorize(browser, person, path)
  const tokens = await oidc.authorizationCodeGrant(application.config, answer, checks)
  return { browser, tokens, answer, checks }
}
