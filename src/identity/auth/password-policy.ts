import { dictionary } from '@zxcvbn-ts/language-common'
import { invalidField } from '../../platform/errors.ts'

const commonOnes = 3_000
const product = 'bailiwick'

const common = new Set(
  dictionary['passwords-common'].filter((password) => password.length >= 8).slice(0, commonOnes),
)

/**
 * Throws 400 on `field` for a password that is among the 3,000 most common of its length, or is as a whole the
 * address, its local part, a name of the person or the product's (ASVS v5.0.0-6.2.4, 6.2.11). No substrings, no score.
 */
export function refuseWeakPassword(
  field: string,
  password: string,
  person: { email: string; firstName: string; lastName: string },
): void {
  const plain = password.toLowerCase()
  const own = [person.email, person.email.split('@')[0], person.firstName, person.lastName, product]
  if (common.has(plain))
    throw invalidField(field, 'This password is too common. Choose another.', 'too_common')
  if (own.some((word) => word?.toLowerCase() === plain))
    throw invalidField(
      field,
      'A password may not be your address, your name or the name of this service.',
      'too_close',
    )
}
