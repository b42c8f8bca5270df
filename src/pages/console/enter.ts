import type { Context, Middleware } from 'koa'
import { ApiError } from '../../errors.ts'
import type { RouteCall } from '../../request/request-path.ts'
import { beginCookie } from '../browser-session/change-cookies.ts'
import { consoleCookie } from '../browser-session/cookie.ts'
import { cookieFactsOf } from '../browser-session/credentials.ts'
import type { Calls, PageDeps } from '../sign-in/calls.ts'
import { returnPath } from '../sign-in/return-to.ts'

/**
 * `GET /console/enter/`: a browser that is signed in on the pages gets the console's own cookie, for the same session, and
 * goes on to the console; others sign in first. `to` is a page of the console.
 */
export function enterConsole(deps: PageDeps, { profile }: Calls): Middleware {
  return async (http, next) => {
    if (http.method !== 'GET' || !/^\/console\/enter\/?$/i.test(http.path)) return next()
    const { to } = http.query
    const page = returnPath(typeof to === 'string' ? to : undefined) ?? '/'
    const familyId = await liveChain(http, profile)
    if (familyId) await beginCookie(deps, http, consoleCookie, cookieFactsOf(deps, familyId))
    const here = `/console/enter/${page === '/' ? '' : `?${new URLSearchParams({ to: page })}`}`
    const path = familyId ? `/console${page}` : `/sign-in/?${new URLSearchParams({ return_to: here })}`
    http.set('Cache-Control', 'no-store')
    http.status = 303
    http.set('Location', new URL(deps.publicUrl()).pathname.replace(/\/$/, '') + path)
  }
}

/** The chain of the browser's session. Null for those who have to sign in, or whom the pages tell why they cannot go on. */
async function liveChain(http: Context, profile: RouteCall): Promise<string | null> {
  try {
    await profile(http)
    return http.state.cookie.family_id
  } catch (error) {
    if (error instanceof ApiError && (error.status === 401 || error.status === 403)) return null
    throw error
  }
}
