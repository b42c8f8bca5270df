import { readAsSystem } from '../../database/executor/read.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, invalidField, notFound } from '../../errors.ts'
import type { Caller } from '../../request/caller.ts'
import { isTenant } from '../tenants/store.ts'
import type { DomainRow } from './store.ts'
import { updateDomain } from './update-domain.ts'

// Sign-ins with an address of a domain that is lent can go on at the connections of the borrower, too. Profiles of people stay the owner's.

const maxLoans = 100

/** Throws 400 on `tenant` for the own tenant, and for one that does not exist. */
export async function assertBorrower(
  { db }: Pick<Deps, 'db'>,
  { tenantId }: Caller,
  borrower: string,
): Promise<void> {
  if (borrower === tenantId) throw invalidField('tenant', 'The domain is that of this tenant already.')
  const exists = await readAsSystem(db, 'a domain is lent to another tenant', (read) =>
    isTenant(read, borrower),
  )
  if (!exists) throw invalidField('tenant', 'There is no tenant with this id.', 'unknown')
}

/** Lends a locked domain. One that is lent already stays so. 409 `limit_reached`. */
export async function lendDomain(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  domain: DomainRow,
  borrower: string,
): Promise<void> {
  const lent = new Set(domain.lent_to).add(borrower)
  if (lent.size > maxLoans)
    throw new ApiError(409, 'limit_reached', `A domain can be lent to at most ${maxLoans} tenants.`)
  await updateDomain(tx, deps, caller, domain, { body: { lent_to: [...lent] }, ifMatch: null })
}

/** Ends the loan of a locked domain. Throws 404 if there is none. */
export async function endLoan(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  domain: DomainRow,
  borrower: string,
): Promise<void> {
  if (!domain.lent_to.includes(borrower)) throw notFound()
  const lent_to = domain.lent_to.filter((id) => id !== borrower)
  await updateDomain(tx, deps, caller, domain, { body: { lent_to }, ifMatch: null })
}
