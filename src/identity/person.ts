import { z } from 'zod'
import { isTimeZone } from '../policy-engine/evaluate/local-time.ts'

export { emailAddress, normaliseEmail } from '../messages/mail/email-address.ts'

/** A first or last name. */
export const personName = z
  .string('Give the name as text.')
  .max(150, 'A name may have 150 characters at most.')
  .meta({ example: 'Ada' })

/** A language tag (BCP 47), in its canonical form. */
export const languageTag = z
  .string('Give the language as text, or null.')
  .max(35, 'A language tag has at most 35 characters.')
  .refine(isLanguageTag, 'Give a language tag (BCP 47), such as de or en-GB.')
  .transform((tag) => Intl.getCanonicalLocales(tag)[0]!)
  .meta({ example: 'en-GB' })

function isLanguageTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1
  } catch {
    return false
  }
}

/** An IANA time zone. */
export const timeZone = z
  .string('Give the time zone as text, or null.')
  .max(64, 'A time zone has at most 64 characters.')
  .refine(isTimeZone, 'Give an IANA time zone, such as Europe/Berlin.')
  .meta({ example: 'Europe/Berlin' })

/** A password to compare: any text that is short enough to hash cheaply. */
export const presentedPassword = z
  .string('Give the password as text.')
  .min(1, 'Give the password.')
  .refine((text) => Buffer.byteLength(text) <= 1_024, 'A password may have 1024 bytes at most.')
  .meta({ format: 'password', example: 'correct horse battery staple' })

/** A new password (NIST SP 800-63B-4): 8 to 128 code points, exactly as sent; see also `refuseWeakPassword`. */
export const chosenPassword = z
  .string('Give the password as text.')
  .refine((text) => [...text].length >= 8, 'A password needs at least 8 characters.')
  .refine((text) => [...text].length <= 128, 'A password may have 128 characters at most.')
  .meta({ format: 'password', minLength: 8, maxLength: 128, example: 'correct horse battery staple' })
