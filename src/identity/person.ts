import { z } from 'zod'

const localPart = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * The one form of an address (RFC 5321 without quotes, comments and Unicode): trimmed, lower case, the domain as
 * A-labels without a trailing dot. Null for what has no such form.
 */
export function normaliseEmail(text: string): string | null {
  // ASCII first: lower-casing would turn the Kelvin sign into a k and make two addresses one.
  if (text.length > 320 || !/^[\x21-\x7e]+$/.test(text.trim())) return null
  const email = text.trim().toLowerCase().replace(/\.$/, '')
  const [local = '', domain = '', ...rest] = email.split('@')
  const labels = domain.split('.')
  const fits = email.length <= 254 && local.length <= 64 && rest.length === 0 && labels.length > 1
  return fits && localPart.test(local) && labels.every((l) => label.test(l)) && !/^\d+$/.test(labels.at(-1)!)
    ? email
    : null
}

/** An address in a body: normalised, else 400. */
export const emailAddress = z
  .string('Give an e-mail address as text.')
  .transform((text, context) => {
    const email = normaliseEmail(text)
    if (email) return email
    context.addIssue({ code: 'custom', message: 'Enter a valid e-mail address, such as ada@example.com.' })
    return z.NEVER
  })
  .meta({ description: 'E-mail address; compared without regard to case', example: 'ada@example.com' })

/** A first or last name. */
export const personName = z
  .string('Give the name as text.')
  .max(150, 'A name may have 150 characters at most.')
  .meta({ example: 'Ada' })

/** A password on its way to be compared: any text of a length that is cheap to hash. */
export const presentedPassword = z
  .string('Give the password as text.')
  .min(1, 'Give the password.')
  .refine((text) => Buffer.byteLength(text) <= 1_024, 'A password may have 1024 bytes at most.')
  .meta({ format: 'password', example: 'correct horse battery staple' })

/** A password being chosen (NIST SP 800-63B-4): 8 to 128 code points, exactly as sent; see also refusePassword. */
export const chosenPassword = z
  .string('Give the password as text.')
  .refine((text) => [...text].length >= 8, 'A password needs at least 8 characters.')
  .refine((text) => [...text].length <= 128, 'A password may have 128 characters at most.')
  .meta({ format: 'password', minLength: 8, maxLength: 128, example: 'correct horse battery staple' })

/** A token out of a mail: any text, for a wrong one is told like a dead one. */
export const linkToken = z
  .string('Give the token as text.')
  .min(1, 'Give the token out of the mail.')
  .max(500, 'This is no token.')
