import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { PathDeps } from '../../request/request-context.ts'
import { type RouteCall, routeCall } from '../../request/request-path.ts'
import type { Method, Route } from '../../request/route.ts'
import type { VerifyDeps } from '../../request/verify-token.ts'
import { loginCookie } from '../browser-session/cookie.ts'
import { cookieCredentials } from '../browser-session/credentials.ts'

export type PageDeps = Deps & PathDeps & VerifyDeps

/** The calls of the API that the pages make. The pages add no rules of their own: each answers as it does to a program. */
export function callsOf(deps: PageDeps, routes: readonly Route[]) {
  const session = cookieCredentials(deps, loginCookie, 'session')
  const waiting = cookieCredentials(deps, loginCookie, 'pending')
  const call = (method: Method, path: string, credentials = session): RouteCall => {
    const route = routes.find((one) => one.method === method && one.path === `/api/v1/${path}`)
    if (!route) throw new Error(`The sign-in pages need ${method} /api/v1/${path}`)
    return routeCall(deps, route, credentials)
  }
  return {
    logIn: call('POST', 'auth/login'),
    showFactor: call('POST', 'auth/otp/verify', waiting),
    mailCode: call('POST', 'auth/otp/email/send', waiting),
    profile: call('GET', 'users/me'),
    switchTenant: call('POST', 'auth/switch-tenant'),
    logOut: call('POST', 'auth/logout'),
  }
}

export type Calls = ReturnType<typeof callsOf>

/** What a sign-in answers to a browser. */
export interface SignInAnswer {
  authenticated?: boolean
  otp_required?: boolean
  methods?: string[]
  counts_from?: string
}

/** The answer, or null where there is no session that is signed in. */
export async function unlessSignedOut<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null
    throw error
  }
}
