import { domainToASCII } from 'node:url'
import { z } from 'zod'
import type { Tx } from '../../database/executor/transaction.ts'
import { invalidField } from '../../errors.ts'
import { findTenantRequiringDomain } from '../members/store.ts'

const label = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?'
const domain = new RegExp(`^(${label}\\.)+(?!\\d+$)${label}$`)

const asLabels = (text: string) => (/^[\0-\x7f]*$/.test(text) ? text : domainToASCII(text))

/** An e-mail domain as it is stored: lower case, A-labels, no trailing dot. */
export const domainName = z
  .string('Give each domain as text.')
  .transform((text) => asLabels(text.trim().toLowerCase().replace(/\.$/, '')))
  .refine((text) => text.length <= 253 && domain.test(text), 'Enter a domain, such as example.com.')
  .meta({ example: 'example.com' })

/**
 * Throws 400 `email_domain_not_allowed` on `field` when the tenant allows only certain domains and the address
 * (normalised) has another one. A subdomain must be listed itself.
 */
export function assertDomainAllowed(allowed: readonly string[], email: string, field: string): void {
  if (!isDomainAllowed(allowed, email))
    throw invalidField(
      field,
      'This tenant does not accept addresses of this domain.',
      'email_domain_not_allowed',
    )
}

/** Whether a tenant that allows these domains (none: all) accepts an address. */
export const isDomainAllowed = (allowed: readonly string[], email: string): boolean =>
  allowed.length === 0 || allowed.includes(domainOf(email))

/** The same for a person who is added by id: an address that they only claim is of no domain. On `user_id`. */
export function assertProvenDomain(
  allowed: readonly string[],
  { email, emailVerified }: { email: string; emailVerified: boolean },
): void {
  assertDomainAllowed(allowed, email, 'user_id')
  if (allowed.length > 0 && !emailVerified)
    throw invalidField(
      'user_id',
      'This tenant accepts addresses of certain domains only, and this person has not verified theirs. Invite the address instead.',
      'email_domain_not_allowed',
    )
}

/**
 * Throws 400 `email_domain_not_allowed` on `email` when a tenant of the person allows the domain of the address
 * `before` but not that of `after`. A tenant that does not allow `before` either is no obstacle. As the system role.
 */
export async function assertDomainsKept(
  tx: Tx,
  { userId, before, after }: { userId: string; before: string; after: string },
): Promise<void> {
  const domains = { before: domainOf(before), after: domainOf(after) }
  const tenant = await findTenantRequiringDomain(tx, userId, domains)
  if (!tenant) return
  throw invalidField(
    'email',
    `Your membership in “${tenant.name}” requires an address of ${tenant.domains.join(' or ')}. Leave that tenant first.`,
    'email_domain_not_allowed',
  )
}

const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1)
