import type { Context } from 'koa'
import { pathPrefix } from '../../http/path-prefix.ts'
import type { Calls, PageDeps } from '../../pages/sign-in/calls.ts'
import { signOut } from '../../pages/sign-in/session.ts'
import type { WritePage } from '../../pages/sign-in/write-page.ts'
import { html } from '../../text/html.ts'
import { type OwnClient, ownOf } from '../client-metadata.ts'
import { isOfManifest } from '../clients/client-id.ts'
import { isRegistered } from '../clients/redirect-uris.ts'
import type { Provider } from '../provider-types.ts'
import { sidOf } from '../tenant-of-request.ts'

interface LogoutParts {
  deps: PageDeps
  calls: Calls
  writePage: WritePage
  open(): Promise<Provider>
}

interface Wish {
  /** Where the browser goes afterwards: a registered address with the `state` of the application; null for nowhere else. */
  to: string | null
  /** The session of a valid `id_token_hint`. */
  hinted: { sid?: string; tenant_id?: string } | null
  client: OwnClient | null
}

/**
 * RP-initiated logout (OpenID Connect RP-Initiated Logout 1.0). An application that shows an ID token of this session signs its
 * person out; else a page asks. An address that is not registered is an error, and it is not followed.
 */
export async function logOut(parts: LogoutParts, http: Context): Promise<void> {
  const { deps, calls, writePage } = parts
  http.set('Cache-Control', 'no-store')
  const given = onlyTexts(http.query)
  const wish = given && (await wishOf(parts, given))
  if (!wish) return refuse(writePage, http)
  const here = await calls.whoIsHere(http)
  const isOwn =
    here &&
    wish.client &&
    wish.hinted &&
    wish.hinted.sid === sidOf(here.sessionId, tenantClient(wish.client, wish.hinted))
  if (here && !isOwn) {
    const back = wish.to === null ? '' : `?${new URLSearchParams({ return_to: afterwards(deps, wish.to) })}`
    return leave(http, `${pathPrefix(deps.publicUrl())}/sign-in/sign-out/${back}`)
  }
  if (here) await signOut(deps, calls, http)
  leave(http, wish.to ?? `${pathPrefix(deps.publicUrl())}/sign-in/signed-out/`)
}

/** A client in the tenant of an ID token: a client of a manifest has none of its own. */
const tenantClient = ({ id, tenantId }: OwnClient, { tenant_id }: NonNullable<Wish['hinted']>) => ({
  id,
  tenantId: isOfManifest(id) ? (tenant_id ?? tenantId) : tenantId,
})

const purpose = 'oauth-logout'
const context = 'post_logout_redirect_uri'

/** A path of the service that leads to a registered address: pages lead to paths of the service only. */
const afterwards = ({ sealer }: PageDeps, to: string): string =>
  `/oauth/logout?after=${sealer.seal(purpose, to, context).toString('base64url')}`

async function wishOf({ deps, open }: LogoutParts, given: Record<string, string>): Promise<Wish | null> {
  if (given.after !== undefined) {
    const to = opened(deps, given.after)
    return to === null ? null : { to, hinted: null, client: null }
  }
  const provider = await open()
  const hint = given.id_token_hint
  const named = hint === undefined ? given.client_id : audienceOf(hint)
  if (given.client_id !== undefined && named !== given.client_id) return null
  const client = named === undefined ? undefined : await provider.Client.find(named)
  if (named !== undefined && !client) return null
  const own = client ? ownOf(client) : null
  const uri = given.post_logout_redirect_uri
  // Without a client an address means nothing, and is ignored.
  const wanted = own && uri !== undefined ? uri : null
  if (wanted !== null && !isRegistered(wanted, own!.postLogoutRedirectUris)) return null
  const hinted = hint === undefined || !client ? null : await claimsIn(provider, hint, client)
  if (hint !== undefined && hinted === null) return null
  const to = wanted === null ? null : withState(wanted, given.state)
  return { to, hinted, client: own }
}

/** An ID token is a hint also when it has expired. Null for one that is not of this service and client. */
async function claimsIn(provider: Provider, hint: string, client: unknown): Promise<Wish['hinted']> {
  const { IdToken } = provider as unknown as {
    IdToken: { validate(token: string, client: unknown): Promise<{ payload: NonNullable<Wish['hinted']> }> }
  }
  try {
    return (await IdToken.validate(hint, client)).payload
  } catch {
    return null
  }
}

function audienceOf(token: string): string | undefined {
  try {
    const { aud } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    return typeof aud === 'string' ? aud : ''
  } catch {
    return ''
  }
}

function opened({ sealer }: PageDeps, text: string): string | null {
  try {
    return sealer.open(purpose, Buffer.from(text, 'base64url'), context)
  } catch {
    return null
  }
}

function withState(uri: string, state: string | undefined): string {
  const url = new URL(uri)
  if (state !== undefined) url.searchParams.set('state', state)
  return url.href
}

/** The parameters of a query; null if one was sent twice. */
function onlyTexts(query: Context['query']): Record<string, string> | null {
  const entries = Object.entries(query)
  return entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')
    ? Object.fromEntries(entries as [string, string][])
    : null
}

function leave(http: Context, to: string): void {
  http.status = 303
  http.set('Location', to)
}

const refuse = (writePage: WritePage, http: Context): Promise<void> =>
  writePage(
    http,
    ({ texts: { application } }) => ({
      title: application.title,
      content: html`<p>${application.lead}</p>\n<p><code>invalid_request</code></p>`,
    }),
    400,
  )
