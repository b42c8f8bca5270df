import type { Context } from 'koa'
import { makeOneTimeToken } from '../../crypto/one-time-token.ts'
import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { endByLogout } from '../../identity/auth/logout.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { findPerson } from '../../tenancy/members/person-store.ts'
import {
  type BrowserCookie,
  clearCookie,
  consoleCookie,
  cookieHashOf,
  loginCookie,
  writeCookie,
} from './cookie.ts'
import {
  type CookieFacts,
  type CookieRow,
  deleteCookie,
  deleteOfChain,
  deleteOthers,
  findCookie,
  insertCookie,
  renewCookie,
} from './store.ts'

const reason = 'a cookie names its person and tenant'

/**
 * A new cookie, in place of the one that the request came with: a session that begins, and one that showed a second factor,
 * is not opened by a copy of a cookie from before. If that one stood for a session of another person than `userId`, they
 * are logged out.
 */
export async function beginCookie(
  deps: Deps,
  http: Context,
  cookie: BrowserCookie,
  { userId, ...facts }: CookieFacts & { userId: string },
): Promise<void> {
  const at = deps.clock()
  const earlier = cookieHashOf(deps.config, http, cookie)
  const { token, hash: cookieHash } = makeOneTimeToken()
  writeCookie(deps.config, http, { ...cookie, value: token })
  await asSystem(deps.db, reason, async (tx) => {
    const before = earlier && (await findCookie(tx, { kind: cookie.kind, hash: earlier, now: at }))
    if (before && before.user_id !== userId) await endSessionOf(tx, before, http, at)
    if (earlier) await deleteCookie(tx, earlier)
    if (facts.familyId) await deleteOfChain(tx, { familyId: facts.familyId, kind: cookie.kind })
    await insertCookie(tx, { ...facts, id: timeOrderedId(at), kind: cookie.kind, cookieHash, at })
  })
}

/** Logs out the session that a cookie stood for. */
async function endSessionOf(
  tx: Tx,
  { session_id: sessionId, user_id: userId, tenant_id: tenantId }: CookieRow,
  http: Context,
  at: number,
): Promise<void> {
  if (sessionId === null || userId === null || tenantId === null) return
  const email = (await findPerson(tx, userId))?.email ?? null
  const { requestInfo } = http.state
  await endByLogout(tx, { sessionId, userId, tenantId, actor: { id: userId, email }, requestInfo, at })
}

/** Forgets cookies of the request, in the browser and here: no copy of them opens their session any more. */
export async function endCookies(
  { db, config }: Deps,
  http: Context,
  cookies: readonly BrowserCookie[],
): Promise<void> {
  const hashes = cookies.flatMap((cookie) => cookieHashOf(config, http, cookie) ?? [])
  for (const cookie of cookies) clearCookie(config, http, cookie)
  if (hashes.length === 0) return
  await asSystem(db, reason, async (tx) => {
    for (const hash of hashes) await deleteCookie(tx, hash)
  })
}

/** Ends the session of the browser with `logOut`, if it is not over yet, and its cookies in any case. */
export async function signOutBrowser(
  deps: Deps,
  http: Context,
  logOut: () => Promise<unknown>,
): Promise<void> {
  try {
    await logOut()
  } catch (error) {
    // 403: the person can no longer use this tenant. 429: no calls are left. Without its cookies, no one can use the
    // session.
    if (!(error instanceof ApiError && [401, 403, 429].includes(error.status))) throw error
  } finally {
    await endCookies(deps, http, [consoleCookie, loginCookie])
  }
}

/**
 * New values for the cookies of the request that stand for its chain: that of the pages, and that of the console. Copies of
 * the earlier ones end, and so do cookies of the chain in other browsers.
 */
export async function replaceCookies(
  deps: Deps,
  http: Context,
  { family_id: familyId }: Pick<CookieRow, 'family_id'>,
): Promise<void> {
  if (!familyId) return
  const renewed = await asSystem(deps.db, reason, async (tx) => {
    const renewals = [consoleCookie, loginCookie].map(async (cookie) => {
      const from = cookieHashOf(deps.config, http, cookie)
      const { token, hash: to } = makeOneTimeToken()
      const isRenewed = from && (await renewCookie(tx, { kind: cookie.kind, familyId, from, to }))
      return isRenewed ? [{ cookie, token, to }] : []
    })
    const done = (await Promise.all(renewals)).flat()
    await deleteOthers(
      tx,
      familyId,
      done.map(({ to }) => to),
    )
    return done
  })
  for (const { cookie, token } of renewed) writeCookie(deps.config, http, { ...cookie, value: token })
}
