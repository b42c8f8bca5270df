import type { Membership } from '../../tenancy/members/store.ts'

/** Words that a guesser knows about a person, so that a password must not be one of them (ASVS v5.0.0-6.1.2). */
export interface PasswordContext {
  email: string
  firstName: string
  lastName: string
  /** Names and slugs of the tenants that they belong to, or are about to join. */
  tenants: readonly string[]
}

/** The names and slugs of a person's tenants. */
export const tenantWords = (
  memberships: readonly Pick<Membership, 'tenant_name' | 'tenant_slug'>[],
): string[] => memberships.flatMap((membership) => [membership.tenant_name, membership.tenant_slug])

/**
 * Whether the whole password is one of the words in `context` or the name of a `product`, ignoring case, spaces and
 * punctuation. Names of tenants and products also match with up to four digits at either end, such as a year. A password
 * that only contains such a word does not match.
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

/** Letters and digits only, in one Unicode form and case. */
const fold = (text: string) =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]/gu, '')
