import { z } from 'zod'
import { invalidField } from '../../platform/errors.ts'

const label = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?'
const domain = new RegExp(`^(${label}\\.)+(?!\\d+$)${label}$`)

/** A domain of e-mail addresses as they are kept: lower case, A-labels, without a trailing dot. */
export const domainName = z
  .string('Give each domain as text.')
  .transform((text) => text.trim().toLowerCase().replace(/\.$/, ''))
  .refine((text) => text.length <= 253 && domain.test(text), 'Enter a domain, such as example.com.')
  .meta({ example: 'example.com' })

/**
 * Throws 400 `email_domain_not_allowed` on `field` where a tenant names domains and the address (normalised) is of
 * none of them; a subdomain has to be named itself.
 */
export function assertDomainAllowed(allowed: readonly string[], email: string, field: string): void {
  if (allowed.length > 0 && !allowed.includes(domainOf(email)))
    throw invalidField(
      field,
      'This tenant does not take addresses of this domain.',
      'email_domain_not_allowed',
    )
}

/** The domain of a normalised address. */
export const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1)
