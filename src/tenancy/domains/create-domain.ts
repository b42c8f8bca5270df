import { randomBytes } from 'node:crypto'
import { readAsSystem } from '../../database/executor/read.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { appendAudit, changesBetween, doneBy } from '../../messages/audit/append-audit.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { assertClaimable } from './claimable-domain.ts'
import { auditedDomain, type NewDomain } from './domain-schemas.ts'
import { countDomains, type DomainRow, domainTaken, insertDomain, isClaimed, isOfAnother } from './store.ts'

const maxDomains = 100

/** Throws 400 for a domain of many organisations, and 409 `domain_taken` for one that another tenant has verified. */
export async function assertFree(
  { db }: Pick<Deps, 'db'>,
  { tenantId }: Caller,
  { domain }: NewDomain,
): Promise<void> {
  await assertClaimable(domain)
  const reason = 'a domain has one owner among all tenants'
  if (await readAsSystem(db, reason, (read) => isOfAnother(read, tenantId, domain))) throw domainTaken()
}

/** Claims a domain. 409 `name_taken` and `limit_reached`. */
export async function createDomain(
  tx: Tx,
  { clock }: Pick<Deps, 'clock'>,
  caller: Caller,
  body: NewDomain,
): Promise<DomainRow> {
  const { tenantId, userId: createdBy } = caller
  const at = clock()
  const domain: DomainRow = {
    ...body,
    id: timeOrderedId(at),
    status: 'pending',
    record_value: `bailiwick-verification=${randomBytes(20).toString('hex')}`,
    lent_to: [],
    verified_at: null,
    missing_since: null,
    created_at: at,
    version: 1,
  }
  await lockTenant(tx, tenantId)
  const [claimed, count] = await Promise.all([
    isClaimed(tx, tenantId, body.domain),
    countDomains(tx, tenantId),
  ])
  if (claimed) throw new ApiError(409, 'name_taken', 'This tenant has this domain.')
  if (count >= maxDomains)
    throw new ApiError(409, 'limit_reached', `A tenant can have at most ${maxDomains} domains.`)
  insertDomain(tx, { ...domain, tenantId, createdBy })
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: 'domain:create',
    target: { type: 'domain', id: domain.id },
    changes: changesBetween(null, auditedDomain(domain)),
  })
  return domain
}
