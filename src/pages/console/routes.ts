import type { Context, Middleware } from 'koa'
import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { Versioned } from '../../request/answer/etag.ts'
import { dispatch, type Served } from '../../request/registry.ts'
import type { PathDeps } from '../../request/request-context.ts'
import { requestPath } from '../../request/request-path.ts'
import type { AnyInput, Method, Route } from '../../request/route.ts'
import type { VerifyDeps } from '../../request/verify-token.ts'
import { signOutBrowser } from '../browser-session/change-cookies.ts'
import { consoleCookie, cookieHashOf } from '../browser-session/cookie.ts'
import { cookieCredentials, cookieOf } from '../browser-session/credentials.ts'
import { type CookieRow, recordImpersonation } from '../browser-session/store.ts'
import { forgetFlow } from '../sign-in/flow.ts'
import { askForPasskey } from '../sign-in/set-up.ts'
import { refuseCrossSite } from './refuse-cross-site.ts'

/** Routes that exist for clients with tokens only. */
const forTokens = new Set(['/api/v1/auth/login', '/api/v1/auth/refresh'])

const isServed = (path: string) => /^\/(api|access)\/v1\//.test(path) && !forTokens.has(path)

/** Where the console serves a route: `/api/v1/…` below `/console/api/`, `/access/v1/…` below `/console/api/access/`. */
const consolePath = (path: string) =>
  path.replace(/^\/(api|access)\/v1/, (_, tree) => (tree === 'api' ? '/console/api' : '/console/api/access'))

/**
 * Everything below `/console/`: the session (docs/how-to/console.md), and `/console/api/`, which serves the routes of
 * `/api/v1/` (and, below `access/`, `/access/v1/`) through the same pipeline with the console's cookie in place of a token. The pages are those of `page`.
 */
export function consoleRoutes(deps: Deps & PathDeps & VerifyDeps, routes: readonly Route[]): Middleware {
  const served: Served[] = []
  const session = cookieCredentials(deps, consoleCookie, 'session')
  const pending = cookieCredentials(deps, consoleCookie, 'pending')
  const named = (method: Method, path: string): Route => {
    const found = routes.find((route) => route.method === method && route.path === `/api/v1/${path}`)
    if (!found) throw new Error(`The console needs ${method} /api/v1/${path}`)
    return found
  }
  const serve = (method: Method, path: string, handle: Middleware) => served.push({ method, path, handle })

  for (const route of routes)
    if (isServed(route.path)) serve(route.method, consolePath(route.path), requestPath(deps, route, session))

  const logIn = requestPath(deps, named('POST', 'auth/login'), session)
  const showFactor = requestPath(deps, named('POST', 'auth/otp/verify'), pending)
  const mailCode = requestPath(deps, named('POST', 'auth/otp/email/send'), pending)
  const begin = requestPath(deps, named('POST', 'auth/passkeys/verify/options'), pending)
  const showPasskey = requestPath(deps, named('POST', 'auth/passkeys/verify'), pending)
  const setUpApp = requestPath(deps, named('POST', 'auth/otp/totp/setup'), pending)
  const confirmApp = requestPath(deps, named('POST', 'auth/otp/totp/confirm'), pending)
  const beginPasskey = requestPath(deps, named('POST', 'auth/passkeys/registration'), pending)
  const setUpPasskey = requestPath(deps, named('POST', 'auth/passkeys'), pending)
  const read = requestPath(deps, stateRoute(named('GET', 'users/me')), session)
  const self = cookieCredentials(deps, consoleCookie, 'self')
  const readSelf = requestPath(deps, stateRoute(named('GET', 'users/me')), self)
  const logOut = requestPath(deps, named('POST', 'auth/logout'), self)
  serve('POST', '/console/session', logIn)
  serve('POST', '/console/session/second-factor', showFactor)
  serve('POST', '/console/session/second-factor/email', mailCode)
  serve('POST', '/console/session/second-factor/passkey/options', begin)
  serve('POST', '/console/session/second-factor/passkey', showPasskey)
  serve('POST', '/console/session/second-factor/app', setUpApp)
  serve('POST', '/console/session/second-factor/app/confirm', confirmApp)
  serve('POST', '/console/session/second-factor/passkey/registration', beginPasskey)
  serve('POST', '/console/session/second-factor/passkey/registration/confirm', thenAsked(deps, setUpPasskey))
  serve('GET', '/console/session', showState(deps, read, readSelf))
  serve('DELETE', '/console/session/impersonation', endImpersonation(deps, readSelf))
  serve('DELETE', '/console/session', signOut(deps, logOut))

  return inFolder(dispatch(served), refuseCrossSite(deps.publicUrl))
}

/** Paths whose requests the cookie authenticates. */
const folder = /^\/console\/(api|session)(\/|$)/

function inFolder(serve: Middleware, refuseForeign: Middleware): Middleware {
  return async (ctx, next) => {
    if (!folder.test(ctx.path)) return next()
    await refuseForeign(ctx, () => serve(ctx, next))
    // Also where the API allows a private cache: nothing of a session may show after it has ended.
    ctx.set('Cache-Control', 'no-store')
  }
}

/** The caller's profile as the state of the session. */
const stateRoute = (profile: Route): Route =>
  ({
    ...profile,
    versioned: false,
    async handle(input: AnyInput, loaded: unknown) {
      const answer = profile.kind === 'handle' && (await profile.handle(input, loaded))
      const user = answer instanceof Versioned ? answer.body : answer
      return { authenticated: true, user }
    },
  }) as Route

/** What a session needs before it goes on. `url`: where its tenant has its members sign in. */
interface Waits {
  otp_required: true
  methods: string[]
  url: string
}

/** Whether the browser is signed in is an answer, not a refusal. */
const showState =
  (deps: Deps, read: Middleware, readSelf: Middleware): Middleware =>
  async (ctx, next) => {
    const row = await cookieOf(deps, ctx, consoleCookie)
    let waits: Partial<Waits> = row?.pending_id ? { otp_required: true, methods: row.methods } : {}
    try {
      if (row?.family_id) return await orAsSelf(deps, row, read, readSelf)(ctx, next)
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 401)) throw error
      // The read itself may find that a factor is due, or a sign-in by the identity provider of the tenant.
      const { otp_required, methods, url } = error.members as Partial<Waits>
      waits = otp_required && methods ? { otp_required, methods } : url ? { url } : {}
    }
    ctx.status = 200
    ctx.type = 'application/json; charset=utf-8'
    ctx.body = JSON.stringify({ authenticated: false, ...waits })
  }

/** Reads the state. When the person may no longer act as another member, that ends, and their own state is read. */
const orAsSelf =
  (
    deps: Deps,
    { id, family_id, impersonated_id: acting }: CookieRow,
    read: Middleware,
    readSelf: Middleware,
  ): Middleware =>
  async (ctx, next) => {
    try {
      return await read(ctx, next)
    } catch (error) {
      if (acting === null || !(error instanceof ApiError && [401, 403].includes(error.status))) throw error
      await asSystem(deps.db, 'a cookie names its person and tenant', (tx) =>
        recordImpersonation(tx, { id, family_id }, null),
      )
      return readSelf(ctx, next)
    }
  }

/** The person is themselves again. Answers the state of the session. */
const endImpersonation =
  (deps: Deps, readSelf: Middleware): Middleware =>
  async (ctx, next) => {
    const row = await cookieOf(deps, ctx, consoleCookie)
    if (row)
      await asSystem(deps.db, 'a cookie names its person and tenant', (tx) =>
        recordImpersonation(tx, row, null),
      )
    return readSelf(ctx, next)
  }

/** A new passkey proves nothing, so the sign-in asks for it next. */
const thenAsked =
  (deps: Deps, setUp: Middleware): Middleware =>
  async (ctx, next) => {
    await setUp(ctx, next)
    const row = await cookieOf(deps, ctx, consoleCookie)
    if (row?.pending_id) await askForPasskey(deps, row.id, row.pending_id)
  }

/** Ends the session, if it is not over yet, and the cookie in any case. */
const signOut =
  (deps: Deps, logOut: Middleware): Middleware =>
  async (ctx: Context, next) => {
    const isKnown = cookieHashOf(deps.config, ctx, consoleCookie) !== null
    await signOutBrowser(deps, ctx, async () => isKnown && logOut(ctx, next))
    forgetFlow(deps, ctx)
    ctx.status = 200
    ctx.type = 'application/json; charset=utf-8'
    ctx.body = JSON.stringify({ authenticated: false })
  }
