import type { Middleware } from 'koa'
import type { Deps } from '../deps.ts'
import { pathPrefix } from '../http/path-prefix.ts'
import type { RequestOf } from '../pages/sign-in/brand.ts'
import type { Calls, PageDeps } from '../pages/sign-in/calls.ts'
import type { SignInPage } from '../pages/sign-in/visit.ts'
import type { AnswerProtocol } from './answer-protocol.ts'
import { connectedPage } from './grants/connected-page.ts'
import { whyNotOffered } from './offered.ts'
import { isMetadata, nameMetadata, showResource } from './resources/protected-resource.ts'

// Most processes of an idle service meet no application. What answers them is loaded with the first one.

/**
 * OpenID Connect: `/oauth/` and the documents of discovery. Errors are those of RFC 6749 §5.2, also where the service itself
 * is at its limits.
 */
export function openidConnect(deps: PageDeps, calls: Calls): Middleware {
  const why = whyNotOffered(deps.config)
  if (why) {
    deps.log.info(`OpenID Connect is off: ${why}`)
    return (_http, next) => next()
  }
  if (deps.config.JWT_PRIVATE_KEYS && deps.keys.now().idTokenKeys.length === 0)
    deps.log.info('RS256 is not offered for ID tokens: JWT_PRIVATE_KEYS has no RSA key')
  let answer: AnswerProtocol | undefined
  return async (http, next) => {
    // Applications in a browser read the keys, too.
    if (http.path === '/.well-known/jwks.json') http.set('Access-Control-Allow-Origin', '*')
    const path = pathOf(deps, http.path)
    if (!path) {
      if (http.method === 'GET' && isMetadata(deps, http.path)) return showResource(deps, http)
      return next().catch((error) => {
        if (http.path.startsWith('/api/v1/')) nameMetadata(deps, error)
        throw error
      })
    }
    try {
      answer ??= (await import('./answer-protocol.ts')).protocolAnswers(deps, calls)
      await answer(http, path, next)
    } finally {
      http.state.measuredAs = 'openid_connect'
    }
  }
}

/** Finds the request of an application that is at an address of the pages. */
export const requestFinder =
  (deps: Pick<Deps, 'db' | 'clock'>): RequestOf =>
  async (returnTo) => {
    if (!/^\/oauth\/(authorize|device)\//.test(returnTo)) return null
    return (await import('./waiting-request.ts')).findWaiting(deps, returnTo)
  }

/** The pages of the sign-in that ask for consent and for the code of a device, and show to whom consent was given. */
export function consentPages(deps: PageDeps, calls: Calls): SignInPage[] {
  const asking = (path: string, open: () => Promise<SignInPage>): SignInPage => ({
    path,
    show: async (visit) => (await open()).show(visit),
    submit: async (visit) => (await open()).submit!(visit),
  })
  return [
    asking('consent', async () => (await import('./consent-page.ts')).consentPage(deps, calls)),
    asking('denied', async () => (await import('./access/access-pages.ts')).deniedPage(deps, calls)),
    asking('access', async () => (await import('./access/access-pages.ts')).askPage(deps, calls)),
    asking('device', async () => (await import('./devices/device-page.ts')).devicePage(deps)),
    connectedPage(deps, calls),
  ]
}

const wellKnown = /^(\/\.well-known\/(?:openid-configuration|oauth-authorization-server))(\/.*)?$/
const endpoints =
  /^\/oauth\/((authorize|device)\/[\w-]{1,64}|authorize|device_authorization|par|token|userinfo|introspect|revoke|logout)$/

/** The path that the library knows; null for those of others. Issuers with a path have it behind, too (RFC 8414 §3.1). */
function pathOf({ publicUrl }: PageDeps, path: string): string | null {
  if (endpoints.test(path)) return path
  const [, document = null, behind = ''] = wellKnown.exec(path) ?? []
  const own = pathPrefix(publicUrl())
  return behind === '' || behind.replace(/\/$/, '') === own ? document : null
}
