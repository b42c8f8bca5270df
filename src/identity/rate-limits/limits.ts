import { createHash } from 'node:crypto'
import type { Config } from '../../config.ts'
import { ApiError } from '../../platform/errors.ts'
import { addressKey } from './address-key.ts'

/** So many uses of one key in a window of so many seconds. */
export interface Limit {
  points: number
  seconds: number
}

export type LimitName =
  | 'login-account'
  | 'login-address'
  | 'mail-minute'
  | 'mail-hour'
  | 'register'
  | 'refresh'

/** Limits on what anybody can ask for, by name. */
export const limitsOf = (config: Config): Record<LimitName, Limit> => ({
  'login-account': { points: config.RATE_LIMIT_LOGIN_PER_ACCOUNT, seconds: 60 },
  'login-address': { points: config.RATE_LIMIT_LOGIN_PER_ADDRESS, seconds: 60 },
  'mail-minute': { points: config.RATE_LIMIT_MAIL_PER_MINUTE, seconds: 60 },
  'mail-hour': { points: config.RATE_LIMIT_MAIL_PER_HOUR, seconds: 3_600 },
  register: { points: config.RATE_LIMIT_REGISTER_PER_HOUR, seconds: 3_600 },
  refresh: { points: config.RATE_LIMIT_REFRESH_PER_SESSION, seconds: 60 },
})

/** One use of a limit, by whom or against what. */
export interface Use {
  limit: LimitName
  key: string
}

/** A failed login of an account (any text, known or not) from an address; refused by address first. */
export const loginUses = (email: string, ip: string): Use[] => [
  { limit: 'login-address', key: addressKey(ip) },
  { limit: 'login-account', key: `${accountKey(email).toString('hex')}:${addressKey(ip)}` },
]

/**
 * What a mail is asked for. Each purpose has windows of its own per address: resets, which anybody can ask for, spend
 * nothing of the codes and links that somebody needs to sign in.
 */
export type MailPurpose = 'reset' | 'code' | 'verification' | 'address-change' | 'invitation'

/** A mail asked for, to a normalised address; the same for one that has no account. */
export const mailUses = (purpose: MailPurpose, email: string): Use[] => {
  const key = `${purpose}:${accountKey(email).toString('hex')}`
  return [
    { limit: 'mail-minute', key },
    { limit: 'mail-hour', key },
  ]
}

/** A registration from an address. */
export const registerUses = (ip: string): Use[] => [{ limit: 'register', key: addressKey(ip) }]

/** A refresh of a session, by a token that the service signed. */
export const refreshUses = (sessionId: string): Use[] => [{ limit: 'refresh', key: sessionId }]

/** Under what an account is counted before it is known whether it exists: SHA-256 of its normalised address. */
export const accountKey = (email: string): Buffer => createHash('sha256').update(email).digest()

/** 429 with the headers of draft-ietf-httpapi-ratelimit-headers; `ms` until the window ends. */
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
