import { randomUUID } from 'node:crypto'
import { z } from 'zod'

const localPart = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Normalises an address (RFC 5321 without quotes, comments and Unicode): trimmed, lower case, the domain as A-labels
 * without a trailing dot. Null for a text that has no such form.
 */
export function normaliseEmail(text: string): string | null {
  // Check for ASCII first: lower-casing turns the Kelvin sign into a k, which would make two addresses one.
  if (text.length > 320 || !/^[\x21-\x7e]+$/.test(text.trim())) return null
  const email = text.trim().toLowerCase().replace(/\.$/, '')
  const [local = '', domain = '', ...rest] = email.split('@')
  const labels = domain.split('.')
  const fits = email.length <= 254 && local.length <= 64 && rest.length === 0 && labels.length > 1
  return fits && localPart.test(local) && labels.every((l) => label.test(l)) && !/^\d+$/.test(labels.at(-1)!)
    ? email
    : null
}

/** An address in a body: normalised, or 400. */
export const emailAddress = z
  .string('Give an e-mail address as text.')
  .transform((text, context) => {
    const email = normaliseEmail(text)
    if (email) return email
    context.addIssue({ code: 'custom', message: 'Enter a valid e-mail address, such as ada@example.com.' })
    return z.NEVER
  })
  .meta({ description: 'E-mail address; compared without regard to case', example: 'ada@example.com' })

const unreachableDomain = '@released.invalid'

/**
 * A new unreachable address (RFC 2606 §2), for an account that lost its own address and cannot be deleted. It is
 * random, so that no one can register it first.
 */
export const unreachableEmail = (): string => `${randomUUID()}${unreachableDomain}`

/** True for an address made by {@link unreachableEmail}, which receives no mail. */
export const isUnreachable = (email: string): boolean => email.endsWith(unreachableDomain)

/**
 * A regular expression, for JavaScript and Postgres, that finds an address as a whole in the text of a JSON value: not
 * `ada@example.com` in `nada@example.com`, which is another person's.
 */
export function addressPattern(email: string): string {
  const escaped = email.replace(/[^a-z0-9@-]/g, '\\$&')
  const begins = '(?:(?<![A-Za-z0-9._+-])|(?<=\\\\[bfnrt]))' // "\n" in JSON is not the letter n
  return `${begins}${escaped}(?![A-Za-z0-9-]|\\.[A-Za-z0-9])`
}
