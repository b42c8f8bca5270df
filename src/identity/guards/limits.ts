import type { Config } from '../../config.ts'
import type { Limit, Use } from '../../platform/limits/limit.ts'
import { accountKey, type MailLimit } from '../../platform/limits/mail-uses.ts'
import { addressKey } from './address-key.ts'

export type LimitName = MailLimit | 'login-account' | 'login-address' | 'register'

/** Limits on what anybody can ask for, by name. */
export const limitsOf = (config: Config): Record<LimitName, Limit> => ({
  'login-account': { points: config.RATE_LIMIT_LOGIN_PER_ACCOUNT, seconds: 60 },
  'login-address': { points: config.RATE_LIMIT_LOGIN_PER_ADDRESS, seconds: 60 },
  'mail-minute': { points: config.RATE_LIMIT_MAIL_PER_MINUTE, seconds: 60 },
  'mail-hour': { points: config.RATE_LIMIT_MAIL_PER_HOUR, seconds: 3_600 },
  register: { points: config.RATE_LIMIT_REGISTER_PER_HOUR, seconds: 3_600 },
})

/** A failed login of an account (any text, known or not) from an address; refused by address first. */
export const loginUses = (email: string, ip: string): Use<LimitName>[] => [
  { limit: 'login-address', key: addressKey(ip) },
  { limit: 'login-account', key: `${accountKey(email).toString('hex')}:${addressKey(ip)}` },
]

/** A registration from an address. */
export const registerUses = (ip: string): Use<LimitName>[] => [{ limit: 'register', key: addressKey(ip) }]
