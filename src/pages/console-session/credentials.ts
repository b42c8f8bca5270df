import type { Context } from 'koa'
import { readAsSystem } from '../../database/executor/read.ts'
import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, unauthorized } from '../../errors.ts'
import { orThrow } from '../../identity/sign-in/outcome.ts'
import { renewSession } from '../../identity/sign-in/renew-session.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { type Claims, spenderOf } from '../../request/caller.ts'
import { type Credentials, claimsOf } from '../../request/verify-token.ts'
import { cookieHashOf, setCookie } from './cookie.ts'
import {
  deleteHeld,
  findHeld,
  type HeldRow,
  insertHeld,
  recordChecked,
  recordImpersonation,
  recordPending,
  replaceHeld,
} from './store.ts'

const reason = 'a cookie names its person and tenant'

/** What the request's cookie stands for; null without a valid cookie. */
export async function heldBy({ db, config, clock }: Deps, http: Context): Promise<HeldRow | null> {
  const hash = cookieHashOf(config, http)
  return hash && readAsSystem(db, reason, (read) => findHeld(read, hash, clock()))
}

/**
 * The console's cookie in place of tokens. It names the session that it was set for or, while that has not begun, the
 * waiting sign-in. `first`: the waiting sign-in comes first, also where a session waits to enter another tenant; `self`:
 * the session is that of its person, also while they act as another member. The
 * tokens of answers are replaced by the cookie: the browser never holds one. `renews`: the answer comes with another cookie, so
 * that no copy of the one from before opens the session.
 */
export const cookieCredentials = (
  deps: Deps,
  first: 'session' | 'pending' | 'self',
  { renews = false } = {},
): Credentials => ({
  arePresent: (http) => cookieHashOf(deps.config, http) !== null,
  async verify(http) {
    const held = await heldBy(deps, http)
    const pending = held && pendingOf(held)
    const waits = first === 'pending' || held?.family_id === null
    const claims = (waits ? pending : null) ?? (held && (await sessionOf(deps, http, held, first !== 'self')))
    if (!claims) throw unauthorized('not_authenticated', 'Sign in: POST /console/session/.')
    deps.budget.assertLeft(spenderOf(claims))
    http.state.held = held
    return claims
  },
  keepTokens: (http, answer) => keepTokens(deps, http, answer, renews),
})

function pendingOf({ id, pending_id, pending_user_id, pending_tenant_id }: HeldRow): Claims | null {
  if (pending_id === null || pending_user_id === null || pending_tenant_id === null) return null
  const claims = { userId: pending_user_id, tenantId: pending_tenant_id, sessionId: pending_id }
  return { ...claims, familyId: null, jti: id, token: 'otp_pending', subjectType: 'user' }
}

/** The session of a cookie, checked as often as the session of a client that refreshes its access tokens. */
async function sessionOf(deps: Deps, http: Context, held: HeldRow, mayAct: boolean): Promise<Claims | null> {
  const { id, family_id: familyId, session_id: sessionId, user_id: userId, tenant_id: tenantId } = held
  if (familyId === null || sessionId === null || userId === null || tenantId === null) return null
  if (held.checked_until <= deps.clock())
    await checkAgain(deps, http, { id, familyId, sessionId }, waitsHere(held))
  const acting = mayAct ? held.impersonated_id : null
  const claims = { tenantId, sessionId, familyId, jti: id, subjectType: 'user', byCookie: true } as const
  return acting === null
    ? { ...claims, userId, token: 'access' }
    : { ...claims, userId: acting, token: 'impersonation', impersonatorId: userId }
}

/** Whether a challenge waits to let the session stay in its tenant. */
const waitsHere = (held: HeldRow) =>
  held.pending_id !== null &&
  held.pending_tenant_id === held.tenant_id &&
  held.pending_user_id === held.user_id

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

/** The members of answers and refusals in which the service hands out tokens, or accepts a factor. */
interface Tokens {
  access?: unknown
  refresh?: unknown
  temporary_token?: unknown
  expires_in?: unknown
  methods?: unknown
  /** A second factor was shown, or an app confirmed by its first code. */
  verified?: unknown
  confirmed?: unknown
}

async function keepTokens(deps: Deps, http: Context, answer: unknown, renews = false): Promise<unknown> {
  if (typeof answer !== 'object' || answer === null) return answer
  const { access, refresh, temporary_token: temporary, ...rest } = answer as Tokens
  const showed = renews || rest.verified === true || rest.confirmed === true
  if (typeof access === 'string' && typeof refresh === 'string') {
    await keepSession(deps, http, await claimsOf(deps.signer, 'access', access, deps.clock()), showed)
    return { ...rest, authenticated: true }
  }
  if (showed) await replaceCookie(deps, http)
  if (typeof access === 'string') {
    const { userId, until } = await actingOf(deps, access)
    const held = heldBefore(http)
    if (!held) throw new Error('Only a session can act as a member')
    const noted = await asSystem(deps.db, reason, (tx) => recordImpersonation(tx, held, { userId, until }))
    if (!noted) throw sessionMoved()
    return rest
  }
  if (typeof temporary !== 'string') return answer
  const { sessionId: pendingId } = await claimsOf(deps.signer, 'otp_pending', temporary, deps.clock())
  await keepPending(deps, http, { pendingId, methods: rest.methods as string[] })
  return { ...rest, authenticated: false }
}

/** The cookie was moved to another tenant while the request was on its way. */
const sessionMoved = () =>
  new ApiError(409, 'invalid_state', 'This session entered another tenant in the meantime. Try again there.')

/** Whom the token of an impersonation lets its person act as, and until when (ms since 1970). */
async function actingOf({ signer, clock }: Deps, access: string): Promise<{ userId: string; until: number }> {
  const { sub, exp, act } = await signer.verify('access', access, clock())
  if (!act) throw new Error('An answer has an access token without a refresh token')
  return { userId: sub, until: exp * 1000 }
}

/** A refusal without its temporary token, which the cookie stands for from now on. */
export async function keepTokensOfRefusal(deps: Deps, http: Context, error: ApiError): Promise<void> {
  if (!('temporary_token' in error.members)) return
  const kept = (await keepTokens(deps, http, error.members)) as Record<string, unknown>
  delete error.members.temporary_token
  Object.assign(error.members, kept)
}

const heldBefore = (http: Context): HeldRow | null => http.state.held ?? null

/**
 * A session that begins gets a cookie of its own, and so does one that `showed` a second factor: no copy of a cookie from
 * before opens it.
 */
async function keepSession(
  deps: Deps,
  http: Context,
  { sessionId, familyId }: Claims,
  showed: boolean,
): Promise<void> {
  const held = heldBefore(http)
  const expiresAt = endOfSession(deps)
  const holding = { familyId, checkedUntil: nextCheck(deps), pendingId: null, methods: [], expiresAt }
  if (held?.session_id === sessionId && !showed)
    await asSystem(deps.db, reason, (tx) => replaceHeld(tx, held.id, holding))
  else await beginCookie(deps, http, holding)
}

/** Another cookie for the same session. The one that the request came with ends. */
async function replaceCookie(deps: Deps, http: Context): Promise<void> {
  const held = heldBefore(http)
  if (!held?.family_id) return
  const { family_id: familyId, checked_until: checkedUntil, pending_id: pendingId, methods } = held
  await beginCookie(deps, http, { familyId, checkedUntil, pendingId, methods, expiresAt: endOfSession(deps) })
}

const endOfSession = ({ clock, config }: Deps) =>
  clock() + config.REFRESH_TOKEN_ABSOLUTE_VALIDITY_SECONDS * 1000

async function keepPending(
  deps: Deps,
  http: Context,
  pending: { pendingId: string; methods: readonly string[] },
): Promise<void> {
  const held = heldBefore(http)
  const now = deps.clock()
  const expiresAt = now + deps.config.OTP_TEMPORARY_TOKEN_VALIDITY_SECONDS * 1000
  if (held?.session_id) await asSystem(deps.db, reason, (tx) => recordPending(tx, held.id, pending))
  else await beginCookie(deps, http, { familyId: null, checkedUntil: now, ...pending, expiresAt })
}

async function beginCookie(
  deps: Deps,
  http: Context,
  holding: Parameters<typeof replaceHeld>[2],
): Promise<void> {
  const at = deps.clock()
  const earlier = cookieHashOf(deps.config, http)
  const cookieHash = setCookie(deps.config, http)
  await asSystem(deps.db, reason, async (tx) => {
    if (earlier) await deleteHeld(tx, earlier)
    await insertHeld(tx, { ...holding, id: timeOrderedId(at), cookieHash, at })
  })
}
