import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { invalidState } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import type { Caller } from '../../request/caller.ts'
import { hasTextRecord } from './ask-dns.ts'
import { auditedDomain, recordName } from './domain-schemas.ts'
import { type DomainRow, markVerified } from './store.ts'

/** Throws 409 `invalid_state` if the DNS does not have the record of a domain. */
export async function assertRecord(
  { config }: Pick<Deps, 'config'>,
  { domain, record_value: value, status }: DomainRow,
): Promise<void> {
  const name = recordName(domain)
  if (await hasTextRecord(config.DNS_RESOLVERS, { name, value })) return
  throw invalidState(
    `The DNS has no TXT record with the value ${value} at ${name}. After you add it, it can take as long as the TTL of the zone to be seen.`,
    status,
  )
}

/** Marks a locked domain as verified. Throws 409 `domain_taken` if another tenant was first. */
export async function verifyDomain(
  tx: Tx,
  { clock }: Pick<Deps, 'clock'>,
  caller: Caller,
  domain: DomainRow,
): Promise<DomainRow> {
  const { tenantId } = caller
  const { id } = domain
  const at = clock()
  await markVerified(tx, { tenantId, id, at })
  const verified: DomainRow = {
    ...domain,
    status: 'verified',
    verified_at: at,
    missing_since: null,
    version: domain.version + 1,
  }
  await recordChange(tx, caller, at, {
    event: 'tenant.domain_verified',
    data: { domain_id: id, domain: domain.domain },
    action: 'domain:verify',
    target: { type: 'domain', id },
    changes: changesBetween(auditedDomain(domain), auditedDomain(verified)),
  })
  return verified
}
