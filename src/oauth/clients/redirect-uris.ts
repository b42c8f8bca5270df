import type { ClientKind } from './store.ts'

const loopback = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(:\d{1,5})?(?=\/|\?|$)/
const customScheme = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:/

/** Why a client cannot have a redirect URI (RFC 9700 §2.1, RFC 8252 §7, §8.4), as a sentence; null if it can. */
export function whyNoRedirect(uri: string, kind: ClientKind): string | null {
  if (uri.length > 2_000 || !URL.canParse(uri) || /[^\x21-\x7e]/.test(uri))
    return 'Give a whole URI in ASCII, of at most 2,000 characters.'
  if (/[#*\\]/.test(uri)) return 'A redirect URI has no fragment, no wildcard and no backslash.'
  const { protocol, username, password } = new URL(uri)
  if (username || password) return 'A redirect URI has no user name and no password.'
  if (loopback.test(uri)) return null
  if (protocol === 'https:') return uri.startsWith('https://') ? null : 'Begin it with https://'
  if (kind === 'native' && customScheme.test(uri)) return null
  return kind === 'native'
    ? 'Use https, http on 127.0.0.1, [::1] or localhost, or a scheme with a dot, such as com.example.app:/callback.'
    : 'Use https, or http on 127.0.0.1, [::1] or localhost.'
}

/** Whether a redirect URI of a request is one that is registered: the same text, but on loopback at any port (RFC 8252 §7.3). */
export const isRegistered = (uri: string, registered: readonly string[]): boolean =>
  registered.includes(uri) ||
  (loopback.test(uri) &&
    URL.canParse(uri) &&
    registered.some((one) => loopback.test(one) && atAnyPort(one) === atAnyPort(uri)))

/** A redirect URI on loopback without its port, which an application chooses each time; others as they are. */
export const atAnyPort = (uri: string): string => uri.replace(loopback, 'http://$1')
