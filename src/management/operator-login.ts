import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Middleware } from 'koa'
import type { Logger } from 'pino'
import { ApiError } from '../platform/errors.ts'

const name = 'operator'
const cookieName = 'bailiwick_operator'
const cookieMs = 12 * 3_600_000
const wrongMost = 10
const windowMs = 60_000
const wrongTakesMs = 1_000

interface Login {
  password: string
  /** Where the browser is to send what it was given. */
  path: string
  /** ms since 1970 */
  clock: () => number
  log: Logger
}

/**
 * Lets nobody pass without the name `operator` and the password, by HTTP Basic (RFC 7617): 401. A wrong one takes a
 * second; ten within a minute, from whomever, close the door for a minute, also to the right one: 429. A browser that
 * was in within the last 12 hours has a door of its own, so strangers who guess do not shut an operator out of an open
 * page. The cookie it is known by opens nothing: every request needs the password. Counted in memory, per process.
 */
export function operatorLogin({ password, path, clock, log }: Login): Middleware {
  const wanted = sha256(`${name}:${password}`)
  const doors = { known: doorOf(clock), strange: doorOf(clock) }
  const seal = sealOf(clock)
  return async (ctx, next) => {
    ctx.set('Cache-Control', 'no-store')
    const given = credentialsOf(ctx.get('authorization'))
    if (given === undefined) throw loginNeeded()
    const door = doors[seal.isOurs(ctx.cookies.get(cookieName)) ? 'known' : 'strange']
    const closedMs = door.closedMs()
    if (closedMs > 0) throw closed(closedMs)
    if (!timingSafeEqual(sha256(given), wanted)) {
      door.count() // before the pause: what comes meanwhile is counted, too
      log.warn({ ip: ctx.ip }, 'A login to the queue board failed')
      await pause(wrongTakesMs, undefined, { ref: false })
      throw loginNeeded()
    }
    // Not Secure: the management port speaks HTTP, and the cookie is worth nothing without the password.
    ctx.append(
      'Set-Cookie',
      `${cookieName}=${seal.make()}; Path=${path}; Max-Age=${cookieMs / 1_000}; ${flags}`,
    )
    await next()
  }
}

const flags = 'HttpOnly; SameSite=Strict'

/** Counts what was wrong within a minute. A right one does not clear the count: it tells nothing about the others. */
function doorOf(clock: () => number) {
  let wrong = 0
  let begun = Number.NEGATIVE_INFINITY
  let closedUntil = Number.NEGATIVE_INFINITY
  return {
    closedMs: () => Math.max(0, closedUntil - clock()),
    count() {
      const now = clock()
      if (now - begun >= windowMs) [wrong, begun] = [0, now]
      wrong += 1
      if (wrong >= wrongMost) closedUntil = now + windowMs
    },
  }
}

/** Cookies that say until when a browser is known, under a key that ends with the process. */
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

/** Name and password as they were sent, `name:password`; undefined where none were. */
function credentialsOf(authorization: string): string | undefined {
  const [, encoded] = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(authorization) ?? []
  return encoded && Buffer.from(encoded, 'base64').toString()
}

const loginNeeded = () =>
  new ApiError(401, 'operator_login_required', 'Log in as operator with QUEUE_BOARD_PASSWORD.', {
    headers: { 'WWW-Authenticate': 'Basic realm="Bailiwick queues", charset="UTF-8"' },
  })

const closed = (ms: number) =>
  new ApiError(429, 'throttled', 'Too many wrong passwords. Nobody new is let in for a minute.', {
    headers: { 'Retry-After': String(Math.ceil(ms / 1_000)) },
  })
