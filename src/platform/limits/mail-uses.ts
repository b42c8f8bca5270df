import { createHash } from 'node:crypto'
import type { Use } from './limit.ts'

/** The limits on mail that somebody asks for, by the address it goes to. */
export type MailLimit = 'mail-minute' | 'mail-hour'

/** A mail that somebody asks for, to a normalised address; the same for one that has no account. */
export const mailUses = (email: string): Use<MailLimit>[] => {
  const key = accountKey(email).toString('hex')
  return [
    { limit: 'mail-minute', key },
    { limit: 'mail-hour', key },
  ]
}

/** Under what an account is counted before it is known whether it exists: SHA-256 of its normalised address. */
export const accountKey = (email: string): Buffer => createHash('sha256').update(email).digest()
