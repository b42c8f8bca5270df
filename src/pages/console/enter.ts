import type { Context, Middleware } from 'koa'
import { ApiError } from '../../errors.ts'
import { pathPrefix } from '../../http/path-prefix.ts'
import type { RouteCall } from '../../request/request-path.ts'
import { beginCookie } from '../browser-session/change-cookies.ts'
import { consoleCookie } from '../browser-session/cookie.ts'
import { cookieFactsOf } from '../browser-session/credentials.ts'
import type { Calls, PageDeps } from '../sign-in/calls.ts'
import { returnPath } from '../sign-in/return-to.ts'

/**
 * `GET /console/enter/`: a browser that is signed in on the pages gets the console's own cookie, for the same session, and
 * goes on to the console; others sign in first. `to` is a page of the console. 403 `cross_site_request` for what is no page
 * of a window by the browser's word (Fetch Metadata), such as a picture or a frame.
 */
export function enterConsole(deps: PageDeps, { profile }: Calls): Middleware {
  return async (http, next) => {
    if (http.method !== 'GET' || !/^\/console\/enter\/?$/i.test(http.path)) return next()
    if (!['', 'document'].includes(http.get('sec-fetch-dest'))) throw notInPage()
    const { to } = http.query
    const page = returnPath(typeof to === 'string' ? to : undefined) ?? '/'
    const chain = await liveChain(http, profile)
    if (chain)
      await beginCookie(deps, http, consoleCookie, { ...chain, ...cookieFactsOf(deps, chain.familyId) })
    const here = `/console/enter/${page === '/' ? '' : `?${new URLSearchParams({ to: page })}`}`
    const path = chain ? `/console${page}` : `/sign-in/?${signInQuery(here, page)}`
    http.set('Cache-Control', 'no-store')
    http.status = 303
    http.set('Location', pathPrefix(deps.publicUrl()) + path)
  }
}

/** A page that names its tenant, as those in mails do, is entered on pages in the look of that tenant. */
function signInQuery(returnTo: string, page: string): URLSearchParams {
  const organization = new URLSearchParams(page.split('?')[1]).get('organisation')
  return new URLSearchParams({ return_to: returnTo, ...(organization && { organization }) })
}

/** The chain of the browser's session. Null for those who have to sign in, or whom the pages tell why they cannot go on. */
async function liveChain(
  http: Context,
  profile: RouteCall,
): Promise<{ familyId: string; userId: string } | null> {
  try {
    await profile(http)
    const { family_id: familyId, user_id: userId } = http.state.cookie
    return { familyId, userId }
  } catch (error) {
    if (error instanceof ApiError && (error.status === 401 || error.status === 403)) return null
    throw error
  }
}

const notInPage = () =>
  new ApiError(
    403,
    'cross_site_request',
    'Open this address in a window: no frame, picture or script enters the console.',
  )
