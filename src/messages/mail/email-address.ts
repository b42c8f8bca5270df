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
 * What separates addresses in the text of a JSON value, for JavaScript and Postgres. The second form is for addresses with
 * unusual characters, such as an apostrophe, which in other texts are around an address.
 */
export const addressSeparators = [
  /(?:\\[bfnrt]|[^A-Za-z0-9._+@-]|\.(?![A-Za-z0-9]))+/,
  /(?:\\[bfnrt]|[^A-Za-z0-9.!#$%&'*+/=?^_`{|}~@-]|\.(?![A-Za-z0-9]))+/,
]

/** Whether the text of a JSON value has one of these addresses as a whole: not `a@b.cd` in `aa@b.cd`, another person's. */
export const namesAddress = (text: string, emails: readonly string[]): boolean =>
  addressSeparators.some((separator) => text.split(separator).some((word) => emails.includes(word)))
