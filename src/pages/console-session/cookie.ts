import type { Context } from 'koa'
import { hashOneTimeToken, makeOneTimeToken } from '../../crypto/one-time-token.ts'
import type { Config } from '../../settings/config.ts'

type Urls = Pick<Config, 'PUBLIC_URL'>

const overTls = ({ PUBLIC_URL }: Urls) => PUBLIC_URL?.startsWith('https:') ?? false

/** Browsers accept the prefix only over TLS, for this host and all paths, so that no other host can set the cookie. */
const nameOf = (config: Urls) => (overTls(config) ? '__Host-bailiwick' : 'bailiwick')
const attributesOf = (config: Urls) => `Path=/; HttpOnly; SameSite=Strict${overTls(config) ? '; Secure' : ''}`

const valueForm = /^[\w-]{43}$/

/** The hash of the request's cookie; null if it has none, an ill-formed one, or several. */
export function cookieHashOf(config: Urls, http: Context): Buffer | null {
  const start = `${nameOf(config)}=`
  const values = http
    .get('cookie')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(start))
    .map((pair) => pair.slice(start.length))
  const [value = ''] = values
  return values.length === 1 && valueForm.test(value) ? hashOneTimeToken(value) : null
}

/** Sets a new cookie of 256 random bits, until the browser is closed; returns its hash. */
export function setCookie(config: Urls, http: Context): Buffer {
  const { token, hash } = makeOneTimeToken()
  http.set('Set-Cookie', `${nameOf(config)}=${token}; ${attributesOf(config)}`)
  return hash
}

export function clearCookie(config: Urls, http: Context): void {
  http.set('Set-Cookie', `${nameOf(config)}=; Max-Age=0; ${attributesOf(config)}`)
}
