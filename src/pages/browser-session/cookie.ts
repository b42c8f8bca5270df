import type { Context } from 'koa'
import { hashOneTimeToken } from '../../crypto/one-time-token.ts'
import type { Config } from '../../settings/config.ts'

type Urls = Pick<Config, 'PUBLIC_URL'>

/** A cookie that stands for a session, and which requests of other sites bring it along. */
export interface BrowserCookie {
  kind: 'console' | 'login'
  name: string
  sameSite: 'Strict' | 'Lax'
  /** In seconds; null: until the browser is closed. */
  maxAge: number | null
}

/** The cookie of the console: no request of another site brings it. */
export const consoleCookie: BrowserCookie = {
  kind: 'console',
  name: 'bailiwick',
  sameSite: 'Strict',
  maxAge: null,
}

/** The cookie of the sign-in pages: a link of an application brings it, so that its person is signed in already. */
export const loginCookie: BrowserCookie = {
  kind: 'login',
  name: 'bailiwick-login',
  sameSite: 'Lax',
  maxAge: 30 * 86_400,
}

const overTls = ({ PUBLIC_URL }: Urls) => PUBLIC_URL?.startsWith('https:') ?? false

/** Browsers accept the prefix only over TLS, for this host and all paths, so that no other host can set the cookie. */
export const cookieName = (config: Urls, name: string) => (overTls(config) ? `__Host-${name}` : name)

const attributesOf = (config: Urls, sameSite: BrowserCookie['sameSite']) =>
  `Path=/; HttpOnly; SameSite=${sameSite}${overTls(config) ? '; Secure' : ''}`

/**
 * The value of a cookie of the request; null if it has none, or several. One that its answer sets already counts in its
 * place.
 */
export function cookieValue(config: Urls, http: Context, name: string): string | null {
  const written = (http.state.cookies as Map<string, string> | undefined)?.get(name)
  if (written !== undefined) return written || null
  const start = `${cookieName(config, name)}=`
  const values = http
    .get('cookie')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(start))
    .map((pair) => pair.slice(start.length))
  return values.length === 1 ? values[0]! : null
}

const tokenForm = /^[\w-]{43}$/

/** The hash of the request's cookie; null if it has none, an ill-formed one, or several. */
export function cookieHashOf(config: Urls, http: Context, { name }: BrowserCookie): Buffer | null {
  const value = cookieValue(config, http, name)
  return value !== null && tokenForm.test(value) ? hashOneTimeToken(value) : null
}

export const clearCookie = (config: Urls, http: Context, cookie: Omit<BrowserCookie, 'kind'>): void =>
  writeCookie(config, http, { ...cookie, value: '', maxAge: 0 })

/** Sets a cookie, beside others that the answer sets already. */
export function writeCookie(
  config: Urls,
  http: Context,
  { name, value, sameSite, maxAge }: Omit<BrowserCookie, 'kind'> & { value: string },
): void {
  http.state.cookies = new Map(http.state.cookies).set(name, value)
  const age = maxAge === null ? '' : `Max-Age=${maxAge}; `
  const start = `${cookieName(config, name)}=`
  const others = [http.response.get('Set-Cookie') ?? []]
    .flat()
    .filter((line) => line && !line.startsWith(start))
  http.set('Set-Cookie', [...others, `${start}${value}; ${age}${attributesOf(config, sameSite)}`])
}
