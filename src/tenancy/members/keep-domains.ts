import type { Tx } from '../../platform/db/transaction.ts'
import { invalidField } from '../../platform/errors.ts'
import { domainOf } from '../tenants/email-domains.ts'
import { findDomainsAskedOf } from './store.ts'

/**
 * Throws 400 `email_domain_not_allowed` on `email` where a tenant of the person takes addresses of certain domains,
 * and the change would leave them; who is outside of them already may go where they like. As the system role.
 */
export async function assertDomainsKept(
  tx: Tx,
  { userId, before, after }: { userId: string; before: string; after: string },
): Promise<void> {
  const asking = await findDomainsAskedOf(tx, userId, { kept: domainOf(before), lost: domainOf(after) })
  if (!asking) return
  throw invalidField(
    'email',
    `Your membership of “${asking.name}” asks for an address of ${asking.domains.join(' or ')}. Leave it first.`,
    'email_domain_not_allowed',
  )
}
