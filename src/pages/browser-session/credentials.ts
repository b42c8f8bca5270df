import type { Context } from 'koa'
import { readAsSystem } from '../../database/executor/read.ts'
import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, unauthorized } from '../../errors.ts'
import { otpRequired } from '../../identity/sign-in/issue-tokens.ts'
import { type HandedOut, orThrow } from '../../identity/sign-in/outcome.ts'
import { renewSession } from '../../identity/sign-in/renew-session.ts'
import type { Challenge } from '../../identity/sign-in/second-factor.ts'
import type { WithCredentials } from '../../request/answer/with-credentials.ts'
import { type Claims, countedFor } from '../../request/caller.ts'
import type { Credentials } from '../../request/verify-token.ts'
import { beginCookie, endCookies, replaceCookies } from './change-cookies.ts'
import { type BrowserCookie, consoleCookie, cookieHashOf } from './cookie.ts'
import {
  type CookieFacts,
  type CookieRow,
  findCookie,
  moveCookie,
  recordChecked,
  recordImpersonation,
  recordPending,
} from './store.ts'

const reason = 'a cookie names its person and tenant'

/** What the request's cookie stands for; null without a valid cookie. */
export async function cookieOf(
  { db, config, clock }: Deps,
  http: Context,
  cookie: BrowserCookie,
): Promise<CookieRow | null> {
  const hash = cookieHashOf(config, http, cookie)
  return (
    hash && readAsSystem(db, reason, (read) => findCookie(read, { kind: cookie.kind, hash, now: clock() }))
  )
}

/**
 * A cookie in place of tokens. It names the session that it was set for or, while that has not begun, the
 * waiting sign-in. `first`: the waiting sign-in comes first, also where a session waits to enter another tenant; `self`:
 * the session is that of its person, also while they act as another member. The
 * browser never holds a token.
 */
export const cookieCredentials = (
  deps: Deps,
  cookie: BrowserCookie,
  first: 'session' | 'pending' | 'self',
): Credentials => ({
  arePresent: (http) => cookieHashOf(deps.config, http, cookie) !== null,
  async verify(http) {
    const row = await cookieOf(deps, http, cookie)
    const pending = row && pendingOf(row)
    const waits = first === 'pending' || row?.family_id === null
    const claims = (waits ? pending : null) ?? (row && (await sessionOf(deps, http, row, first !== 'self')))
    if (!claims) throw unauthorized('not_authenticated', 'Sign in: POST /console/session/.')
    deps.callLimits.assertLeft(countedFor(claims))
    http.state.cookie = row
    return claims
  },
  handOut: (http, answer: WithCredentials<HandedOut>) => handOut(deps, http, cookie, answer),
})

function pendingOf({ id, pending_id, pending_user_id, pending_tenant_id }: CookieRow): Claims | null {
  if (pending_id === null || pending_user_id === null || pending_tenant_id === null) return null
  const claims = { userId: pending_user_id, tenantId: pending_tenant_id, sessionId: pending_id }
  return { ...claims, familyId: null, jti: id, token: 'otp_pending', subjectType: 'user' }
}

/** The session of a cookie, checked as often as the session of a client that refreshes its access tokens. */
async function sessionOf(deps: Deps, http: Context, row: CookieRow, mayAct: boolean): Promise<Claims | null> {
  const { id, family_id: familyId, session_id: sessionId, user_id: userId, tenant_id: tenantId } = row
  if (familyId === null || sessionId === null || userId === null || tenantId === null) return null
  if (row.checked_until <= deps.clock())
    await checkAgain(deps, http, { id, familyId, sessionId }, waitsHere(row))
  const acting = mayAct ? row.impersonated_id : null
  const claims = { tenantId, sessionId, familyId, jti: id, subjectType: 'user', byCookie: true } as const
  return acting === null
    ? { ...claims, userId, token: 'access' }
    : { ...claims, userId: acting, token: 'impersonation', impersonatorId: userId }
}

/** Whether a challenge waits to let the session stay in its tenant. */
const waitsHere = (row: CookieRow) =>
  row.pending_id !== null && row.pending_tenant_id === row.tenant_id && row.pending_user_id === row.user_id

/** Throws 401, 403 as a refresh does; `otp_required` if the tenant now demands a second factor. */
async function checkAgain(
  deps: Deps,
  http: Context,
  { id, ...chain }: { id: string; familyId: string; sessionId: string },
  waits: boolean,
): Promise<void> {
  const outcome = orThrow(await renewSession(deps, http.state.requestInfo, chain, { waits }))
  switch (outcome.kind) {
    case 'waits':
      throw secondFactorDue(outcome.methods)
    case 'factor_due':
      await asSystem(deps.db, reason, (tx) => recordPending(tx, id, outcome.challenge))
      throw secondFactorDue(outcome.challenge.methods)
    case 'continued':
      await asSystem(deps.db, reason, (tx) => recordChecked(tx, id, nextCheck(deps)))
  }
}

const nextCheck = ({ clock, config }: Deps) => clock() + config.ACCESS_TOKEN_VALIDITY_SECONDS * 1000

const secondFactorDue = (methods: readonly string[]) => {
  const error = unauthorized('otp_required', 'This tenant requires a second factor: show yours.')
  Object.assign(error.members, { otp_required: true, methods })
  return error
}

/** Keeps what was opened for the browser, which learns only whether it is signed in. */
async function handOut(
  deps: Deps,
  http: Context,
  cookie: BrowserCookie,
  { opened, body }: WithCredentials<HandedOut>,
): Promise<object> {
  switch (opened.kind) {
    case 'opened': {
      // The console is entered anew: its cookie can be that of another person.
      if (cookie.kind === 'login') await endCookies(deps, http, [consoleCookie])
      const { familyId, session } = opened.grant
      await beginCookie(deps, http, cookie, { ...cookieFactsOf(deps, familyId), userId: session.userId })
      return { ...body, authenticated: true }
    }
    case 'continued': {
      const { id } = authenticatedCookie(http)
      await asSystem(deps.db, reason, (tx) => moveCookie(tx, id, cookieFactsOf(deps, opened.grant.familyId)))
      return { ...body, authenticated: true }
    }
    case 'factor_due': {
      const { challenge } = opened
      await keepPending(deps, http, cookie, challenge)
      const expires_in = deps.config.OTP_TEMPORARY_TOKEN_VALIDITY_SECONDS
      const asked = { otp_required: true, expires_in, methods: challenge.methods, authenticated: false }
      if (challenge.entry.session) throw otpRequired(asked)
      return { ...body, ...asked }
    }
    case 'acting': {
      const { member, at, until } = opened
      const acting = { userId: member.userId, until }
      const noted = await asSystem(deps.db, reason, (tx) =>
        recordImpersonation(tx, authenticatedCookie(http), acting),
      )
      if (!noted) throw sessionMoved()
      return { ...body, expires_in: (until - at) / 1000 }
    }
    case 'renewed':
      await replaceCookies(deps, http, authenticatedCookie(http))
      return body
  }
}

/** The cookie was moved to another tenant while the request was on its way. */
const sessionMoved = () =>
  new ApiError(409, 'invalid_state', 'This session entered another tenant in the meantime. Try again there.')

/** What the cookie of the request stands for. Only a request that it authenticated continues a session. */
function authenticatedCookie(http: Context): CookieRow {
  if (!http.state.cookie) throw new Error('The request was not authenticated by a cookie')
  return http.state.cookie
}

/** What a cookie stands for from now on: a chain that was just checked. */
export const cookieFactsOf = (deps: Deps, familyId: string): CookieFacts => ({
  familyId,
  checkedUntil: nextCheck(deps),
  pendingId: null,
  methods: [],
  expiresAt: endOfSession(deps),
})

const endOfSession = ({ clock, config }: Deps) =>
  clock() + config.REFRESH_TOKEN_ABSOLUTE_VALIDITY_SECONDS * 1000

async function keepPending(
  deps: Deps,
  http: Context,
  cookie: BrowserCookie,
  pending: Challenge,
): Promise<void> {
  const row: CookieRow | undefined = http.state.cookie
  const now = deps.clock()
  const expiresAt = now + deps.config.OTP_TEMPORARY_TOKEN_VALIDITY_SECONDS * 1000
  const { pendingId, methods } = pending
  if (row?.session_id && row.session_id === pending.entry.session?.id)
    await asSystem(deps.db, reason, (tx) => recordPending(tx, row.id, pending))
  else
    await beginCookie(deps, http, cookie, {
      userId: pending.entry.userId,
      familyId: null,
      checkedUntil: now,
      pendingId,
      methods,
      expiresAt,
    })
}
