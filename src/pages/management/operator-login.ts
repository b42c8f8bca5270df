import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Middleware } from 'koa'
import type { Logger } from 'pino'
import { ApiError } from '../../errors.ts'

const name = 'operator'
const cookieName = 'bailiwick_operator'
const cookieMs = 12 * 3_600_000
const maxFailures = 10
const windowMs = 60_000
const failureDelayMs = 1_000

interface Login {
  password: string
  /** The path to which browsers send the cookie. */
  path: string
  /** ms since 1970 */
  clock: () => number
  log: Logger
}

/**
 * Requires the name `operator` and the password, by HTTP Basic (RFC 7617); otherwise 401. A wrong password takes a
 * second. Ten wrong passwords within a minute, from any clients together, lock the login for a minute, also for the right
 * password: 429. Browsers that logged in within the last 12 hours have a separate lock, so strangers who guess cannot
 * lock out an operator who works. A cookie identifies these browsers; it opens nothing, because every request needs the
 * password. Counts are in memory, per process.
 */
export function operatorLogin({ password, path, clock, log }: Login): Middleware {
  const wanted = sha256(`${name}:${password}`)
  const locks = { known: createLock(clock), unknown: createLock(clock) }
  const seal = sealOf(clock)
  return async (ctx, next) => {
    ctx.set('Cache-Control', 'no-store')
    const given = credentialsOf(ctx.get('authorization'))
    if (given === undefined) throw loginNeeded()
    const lock = locks[seal.isOurs(ctx.cookies.get(cookieName)) ? 'known' : 'unknown']
    const lockedMs = lock.lockedMs()
    if (lockedMs > 0) throw locked(lockedMs)
    if (!timingSafeEqual(sha256(given), wanted)) {
      lock.count() // before the pause, so that parallel requests are counted at once
      log.warn({ ip: ctx.ip }, 'A login to the queue board failed')
      await pause(failureDelayMs, undefined, { ref: false })
      throw loginNeeded()
    }
    // Not Secure: the management port speaks HTTP, and the cookie is useless without the password.
    ctx.append(
      'Set-Cookie',
      `${cookieName}=${seal.make()}; Path=${path}; Max-Age=${cookieMs / 1_000}; ${flags}`,
    )
    await next()
  }
}

const flags = 'HttpOnly; SameSite=Strict'

/** Counts failures within a minute. A right password does not reset the count: other clients caused the failures. */
function createLock(clock: () => number) {
  let failures = 0
  let windowStart = Number.NEGATIVE_INFINITY
  let lockedUntil = Number.NEGATIVE_INFINITY
  return {
    lockedMs: () => Math.max(0, lockedUntil - clock()),
    count() {
      const now = clock()
      if (now - windowStart >= windowMs) [failures, windowStart] = [0, now]
      failures += 1
      if (failures >= maxFailures) lockedUntil = now + windowMs
    },
  }
}

/** Makes and checks cookies that say until when a browser is known, signed with a key of this process. */
function sealOf(clock: () => number) {
  const key = randomBytes(32)
  const sign = (until: string) => createHmac('sha256', key).update(until).digest('base64url')
  return {
    make() {
      const until = String(clock() + cookieMs)
      return `${until}.${sign(until)}`
    },
    isOurs(cookie = '') {
      const [until = '', signature = ''] = cookie.split('.')
      return timingSafeEqual(sha256(signature), sha256(sign(until))) && clock() < Number(until)
    },
  }
}

const sha256 = (text: string) => createHash('sha256').update(text).digest()

/** The credentials as they were sent, `name:password`; undefined if there are none. */
function credentialsOf(authorization: string): string | undefined {
  const [, encoded] = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(authorization) ?? []
  return encoded && Buffer.from(encoded, 'base64').toString()
}

const loginNeeded = () =>
  new ApiError(401, 'operator_login_required', 'Log in as operator with QUEUE_BOARD_PASSWORD.', {
    headers: { 'WWW-Authenticate': 'Basic realm="Bailiwick queues", charset="UTF-8"' },
  })

const locked = (ms: number) =>
  new ApiError(429, 'throttled', 'Too many wrong passwords. Logins are locked for a minute.', {
    headers: { 'Retry-After': String(Math.ceil(ms / 1_000)) },
  })
