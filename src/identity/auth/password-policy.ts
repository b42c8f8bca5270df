import type { Deps } from '../../deps.ts'
import { invalidField } from '../../errors.ts'
import { isBreachedPassword } from './breached-passwords.ts'
import { isContextWord, type PasswordContext } from './context-words.ts'

const product = 'Bailiwick'

/**
 * Throws 400 on `field` for a password that is known from breaches (ASVS v5.0.0-6.2.4), or that is as a whole a word of
 * its person, their tenants or the product (6.2.11). No substrings and no score: guessers try whole words.
 */
export function refuseWeakPassword(
  { config }: Pick<Deps, 'config'>,
  field: string,
  password: string,
  context: PasswordContext,
): void {
  if (isBreachedPassword(password))
    throw invalidField(
      field,
      'This password is too common: it is known from breaches. Choose another.',
      'too_common',
    )
  const products = [product, config.OTP_TOTP_ISSUER_NAME, ...config.PASSWORD_BLOCKED_WORDS]
  if (isContextWord(password, context, products))
    throw invalidField(
      field,
      'A password must not be your address, your name, or the name of this service or of one of your tenants. Choose another.',
      'too_close',
    )
}
