import type { Membership } from '../../tenancy/members/store.ts'

/** What a password of this person may not consist of (ASVS v5.0.0-6.1.2): words that a guesser knows of them. */
export interface PasswordContext {
  email: string
  firstName: string
  lastName: string
  /** Names and slugs of the tenants they belong to, or are about to join. */
  tenants: readonly string[]
}

/** The words of the tenants that somebody belongs to. */
export const tenantWords = (places: readonly Pick<Membership, 'tenant_name' | 'tenant_slug'>[]): string[] =>
  places.flatMap((place) => [place.tenant_name, place.tenant_slug])

/**
 * Whether a password is, as a whole, one of the words in `context` or the name of a `product`, whatever its case,
 * spaces and punctuation. Names of tenants and products are recognised with up to four digits at either end, such as
 * a year, too. A password that only contains such a word is another.
 */
export function isContextWord(
  password: string,
  context: PasswordContext,
  products: readonly string[],
): boolean {
  const plain = fold(password)
  if (plain === '') return false
  const undated = plain.replace(/^\d{1,4}(?=\D)|(?<=\D)\d{1,4}$/g, '')
  const organisations = [...context.tenants, ...products].map(fold)
  return (
    ownWords(context).some((word) => fold(word) === plain) ||
    organisations.some((word) => word === plain || word === undated)
  )
}

function ownWords({ email, firstName, lastName }: PasswordContext): string[] {
  const [local = '', domain = ''] = email.split('@')
  const parts = [...local.split(/[._+-]/), ...domain.split('.')]
  return [email, local, ...parts, firstName, lastName, firstName + lastName, lastName + firstName]
}

/** Letters and digits alone, in one form and case. */
const fold = (text: string) =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]/gu, '')
