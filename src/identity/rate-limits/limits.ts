import { hash } from 'node:crypto'
import { ApiError } from '../../errors.ts'
import type { MailPurpose } from '../../messages/mail/template.ts'
import type { Config } from '../../settings/config.ts'
import { addressKey } from './address-key.ts'
import type { Sender } from './count-stranger.ts'

/** At most `points` uses of one key in a window of `seconds`. */
export interface Limit {
  points: number
  seconds: number
}

export type LimitName =
  | 'login-account'
  | 'login-address'
  | 'sign-in'
  | 'mail-minute'
  | 'mail-hour'
  | 'mail-address'
  | 'invitation-total'
  | 'register'
  | 'refresh'
  | 'passkey-challenge'
  | 'key-revoke'
  | 'oauth-address'
  | 'user-code'

/** The limits on requests that need no login, and on mails, by name. */
export const limitsOf = (config: Config): Record<LimitName, Limit> => ({
  'login-account': { points: config.RATE_LIMIT_LOGIN_PER_ACCOUNT, seconds: 60 },
  'login-address': { points: config.RATE_LIMIT_LOGIN_PER_ADDRESS, seconds: 60 },
  'sign-in': { points: config.RATE_LIMIT_SIGN_INS_PER_ACCOUNT, seconds: 60 },
  'mail-minute': { points: config.RATE_LIMIT_MAIL_PER_MINUTE, seconds: 60 },
  'mail-hour': { points: config.RATE_LIMIT_MAIL_PER_HOUR, seconds: 3_600 },
  'mail-address': { points: config.RATE_LIMIT_ANONYMOUS_MAIL_PER_ADDRESS, seconds: 3_600 },
  'invitation-total': { points: config.RATE_LIMIT_INVITATION_MAIL_PER_HOUR, seconds: 3_600 },
  register: { points: config.RATE_LIMIT_REGISTER_PER_HOUR, seconds: 3_600 },
  refresh: { points: config.RATE_LIMIT_REFRESH_PER_SESSION, seconds: 60 },
  'key-revoke': { points: config.RATE_LIMIT_KEY_REVOKE_PER_ADDRESS, seconds: 60 },
  'oauth-address': { points: config.RATE_LIMIT_OAUTH_PER_ADDRESS, seconds: 60 },
  'user-code': { points: config.RATE_LIMIT_USER_CODES_PER_ADDRESS, seconds: 60 },
  'passkey-challenge': { points: config.RATE_LIMIT_PASSKEY_PER_ADDRESS, seconds: 60 },
})

/** One use of a limit; `key` names what is counted, such as an account or an address. */
export interface Use {
  limit: LimitName
  key: string
}

/** A failed login to an account (any text, known or not) from an address. The limit of the address refuses first. */
export const loginUses = (email: string, ip: string): Use[] => [
  { limit: 'login-address', key: addressKey(ip) },
  { limit: 'login-account', key: `${accountKey(email).toString('hex')}:${addressKey(ip)}` },
]

/**
 * A sign-in to an account (any text, known or not), in whatever way. It counts at its first factor: the second factor that
 * completes it is not another one.
 */
export const signInUses = (email: string): Use[] => [
  { limit: 'sign-in', key: accountKey(email).toString('hex') },
]

/**
 * A requested mail to a normalised address, with or without an account. Each purpose has its own windows per address:
 * strangers can request resets, and that must not use up the codes and links that the owner needs to sign in.
 */
export const mailUses = (purpose: Exclude<MailPurpose, 'invitation'>, email: string): Use[] =>
  windowsOf(`${purpose}:${accountKey(email).toString('hex')}`)

const windowsOf = (key: string): Use[] => [
  { limit: 'mail-minute', key },
  { limit: 'mail-hour', key },
]

/** The same, asked for by a caller without an account. The limit of the caller's address refuses first. */
export const anonymousMailUses = (
  purpose: 'reset' | 'magic-link' | 'provider',
  email: string,
  ip: string,
): Use[] => [{ limit: 'mail-address', key: addressKey(ip) }, ...mailUses(purpose, email)]

/**
 * A mail to an address that asked for none. Each tenant has its own windows per address. No person and no caller's
 * address has more than one tenant has, so a stranger cannot use up the total of the address.
 */
export const invitationUses = ({ tenantId, userId, requestInfo }: Sender, email: string): Use[] => {
  const recipient = accountKey(email).toString('hex')
  return [
    ...windowsOf(`invitation:${tenantId}:${recipient}`),
    { limit: 'mail-hour', key: `invitation:${userId}:${recipient}` },
    { limit: 'mail-hour', key: `invitation:${addressKey(requestInfo.ip)}:${recipient}` },
    { limit: 'invitation-total', key: recipient },
  ]
}

/** A registration from an address. */
export const registerUses = (ip: string): Use[] => [{ limit: 'register', key: addressKey(ip) }]

/** A refresh of a session, with a token that the service signed. */
export const refreshUses = (sessionId: string): Use[] => [{ limit: 'refresh', key: sessionId }]

/** A challenge for a passkey sign-in from an address. */
export const challengeUses = (ip: string): Use[] => [{ limit: 'passkey-challenge', key: addressKey(ip) }]

/** A report of a leaked API key from an address. */
export const keyReportUses = (ip: string): Use[] => [{ limit: 'key-revoke', key: addressKey(ip) }]

/** A request of an application that a browser brings from an address. */
export const authorizeUses = (ip: string): Use[] => [{ limit: 'oauth-address', key: addressKey(ip) }]

/** A wrong code of a device that someone enters from an address. */
export const userCodeUses = (ip: string): Use[] => [{ limit: 'user-code', key: addressKey(ip) }]

/** A wrong secret of a client from an address. Failed logins from there have their own count. */
export const wrongSecretUses = (ip: string): Use[] => [
  { limit: 'login-address', key: `client:${addressKey(ip)}` },
]

/** A failed passkey sign-in from an address. Failed logins from there count for the same limit. */
export const passkeyUses = (ip: string): Use[] => [{ limit: 'login-address', key: addressKey(ip) }]

/** A request with an unknown token of an application from an address. Failed logins from there have their own count. */
export const applicationUses = (ip: string): Use[] => [
  { limit: 'login-address', key: `application:${addressKey(ip)}` },
]

/** The key that counts an account, even one that does not exist: SHA-256 of its normalised address. */
export const accountKey = (email: string): Buffer => hash('sha256', email, 'buffer')

/** 429 with the headers of draft-ietf-httpapi-ratelimit-headers; the window ends in `ms`. */
export function throttled(name: string, { points, seconds }: Limit, ms: number): ApiError {
  const wait = Math.max(1, Math.ceil(ms / 1000))
  return new ApiError(429, 'throttled', `Too many requests. Try again in ${wait} s.`, {
    headers: {
      'RateLimit-Policy': `"${name}";q=${points};w=${seconds}`,
      RateLimit: `"${name}";r=0;t=${wait}`,
      'Retry-After': String(wait),
    },
  })
}
