import type { Context, Next } from 'koa'
import type { KeyRing } from '../crypto/token-signer.ts'
import { ApiError } from '../errors.ts'
import { asApiError } from '../http/problem.ts'
import { authorizeUses } from '../identity/rate-limits/limits.ts'
import type { Calls, PageDeps } from '../pages/sign-in/calls.ts'
import { sentenceOf } from '../pages/sign-in/elements.ts'
import { readForm } from '../pages/sign-in/read-form.ts'
import type { Visit } from '../pages/sign-in/visit.ts'
import { pageWriter, type WritePage } from '../pages/sign-in/write-page.ts'
import { smallBody } from '../request/body/read-body.ts'
import { html } from '../text/html.ts'
import { logOut } from './logouts/log-out.ts'
import { makeProvider } from './provider.ts'
import { type ProviderKeys, providerKeys } from './provider-keys.ts'
import type { Library, Provider } from './provider-types.ts'
import { newUnit, writeUnit } from './request-unit.ts'

/** Answers the requests of applications, and of browsers that they send. `path` is the one that the library knows. */
export function protocolAnswers(deps: PageDeps, calls: Calls): AnswerProtocol {
  const writePage = pageWriter(deps)
  const open = providerOpener(deps, calls, writePage)
  return async (http, path, next) => {
    const unit = collecting.test(path) ? newUnit() : null
    http.state.oauth = { here: null, due: null, unit }
    try {
      if (http.method === 'POST' && unit) limitBody(http)
      if (http.method === 'POST' && /^\/oauth\/(authorize|logout)$/.test(path))
        return await again(http, writePage)
      if (path === '/oauth/logout') return await logOut({ deps, calls, writePage, open }, http)
      if (isOfBrowser(path)) await beginAuthorization(deps, calls, http)
      const provider = await open()
      // The library leaves it out where it revokes.
      if (path.startsWith('/oauth/')) http.set('Cache-Control', 'no-store')
      http.path = path
      const { params } = http
      await provider.middleware.at(-1)!(http as never, next)
      http.params = params
      narrowDiscovery(http)
      if (http.state.oauth.failure) throw http.state.oauth.failure
      if (unit) await writeUnit(deps, unit, http)
    } catch (thrown) {
      await answerFailure(deps, http, thrown, writePage)
    }
  }
}

/** Endpoints that read and write all at once. */
const collecting = /^\/oauth\/(token|userinfo|introspect|revoke)$/

export type AnswerProtocol = (http: Context, path: string, next: Next) => Promise<void>

/** Makes the provider with the first request, and anew when keys have rotated. */
function providerOpener(deps: PageDeps, calls: Calls, writePage: WritePage) {
  let made: { ring: KeyRing; id: string; provider: Provider } | undefined
  let library: Library | undefined
  return async (): Promise<Provider> => {
    if (made?.ring === deps.keys.now()) return made.provider
    library ??= await import('oidc-provider')
    const keys = await providerKeys(deps)
    // The ring is read again each minute, mostly with the same keys.
    const { provider } = made?.id === keys.id ? made : { provider: make(library, keys) }
    made = { ring: keys.ring, id: keys.id, provider }
    return provider
  }
  function make(library: Library, keys: ProviderKeys): Provider {
    const provider = makeProvider({ deps, calls, library, writePage }, keys)
    provider.on('server_error', (ctx, error) => {
      ctx.state.oauth.failure = error
    })
    return provider
  }
}

const isOfBrowser = (path: string) => /^\/oauth\/(authorize|device\/)/.test(path)

/** Says who is signed in, and what a page may do that posts the answer to the application. */
async function beginAuthorization(deps: PageDeps, calls: Calls, http: Context): Promise<void> {
  await deps.limiters.take(authorizeUses(http.state.requestInfo.ip))
  http.cookies.secure = deps.publicUrl().startsWith('https:')
  // The library adds the digest of its script. The form leads to the application, and on to where that leads.
  http.set(
    'Content-Security-Policy',
    "default-src 'none'; script-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  )
  http.state.oauth.here = await calls.whoIsHere(http)
}

/** A request by POST goes on as one by GET: the browser's cookie does not come along with forms of other sites. */
async function again(http: Context, writePage: WritePage): Promise<void> {
  const query = new URLSearchParams(await readForm(http))
  await writePage(http, ({ texts, prefix }) => {
    const to = `${prefix}${http.path}?${query}`
    return {
      title: texts.leave.title,
      content: html`<p><a class="button" href="${to}">${texts.continue}</a></p>`,
      refresh: to,
    }
  })
}

/** Bodies of programs that have not shown who they are. The library itself reads 56 KiB. */
function limitBody({ req, request }: Context): void {
  const tooLarge = () =>
    new ApiError(413, 'payload_too_large', `The form can have ${smallBody} bytes at most.`)
  if ((request.length ?? 0) > smallBody) throw tooLarge()
  // The library reads no more than that.
  if (request.length !== undefined) return
  const read = req.iterator.bind(req)
  // Without a Content-Length.
  req.iterator = async function* (options) {
    let bytes = 0
    for await (const chunk of read(options)) {
      bytes += chunk.length
      if (bytes > smallBody) throw tooLarge()
      yield chunk
    }
    return undefined
  }
}

/** What the library names, and this service does not do. */
function narrowDiscovery(http: Context): void {
  if (!http.path.startsWith('/.well-known/') || http.status !== 200) return
  const document = http.body as Record<string, unknown>
  document.response_modes_supported = ['query', 'form_post']
  http.set('Cache-Control', 'public, max-age=60')
}

/** RFC 6749 §5.2, and 429 or 503 where the service is at its limits. A redirect to the application stays. */
async function answerFailure(
  { log }: PageDeps,
  http: Context,
  thrown: unknown,
  writePage: WritePage,
): Promise<void> {
  const error = asApiError(thrown)
  http.state.error = error
  if (error.status >= 500)
    log.error({ err: error.cause ?? thrown, request_id: http.state.requestInfo?.requestId }, error.message)
  if (http.response.get('Location')) return
  http.set({ ...error.headers, 'Cache-Control': 'no-store' })
  if (isOfBrowser(http.path) || http.path === '/oauth/logout') {
    const says = ({ texts }: Visit) => ({
      title: texts.errorTitle,
      content: html`<p class="alert" role="alert">${sentenceOf(texts, error)}</p>`,
    })
    return writePage(http, says, error.status)
  }
  const isBusy = error.status === 429 || error.status === 503
  http.status = error.status
  http.body =
    error.status < 500 && !isBusy
      ? { error: 'invalid_request', error_description: error.message }
      : { error: isBusy ? 'temporarily_unavailable' : 'server_error' }
}
