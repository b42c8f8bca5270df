import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween, doneBy } from '../../messages/audit/append-audit.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { auditedDomain } from './domain-schemas.ts'
import { changeDomain, type DomainFields, type DomainRow } from './store.ts'

/** What a call changes: members that are undefined stay. */
type Change = { [Name in keyof DomainFields]?: DomainFields[Name] | undefined }

/** Changes a locked domain. */
export async function updateDomain(
  tx: Tx,
  { clock }: Pick<Deps, 'clock'>,
  caller: Caller,
  domain: DomainRow,
  { body, ifMatch }: { body: Change; ifMatch: Versions },
): Promise<DomainRow> {
  assertAmong(ifMatch, domain.version)
  const at = clock()
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
  const next: DomainRow = { ...domain, ...given }
  if (isDeepStrictEqual(next, domain)) return domain
  changeDomain(tx, { ...next, tenantId: caller.tenantId, at })
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: 'domain:update',
    target: { type: 'domain', id: domain.id },
    changes: changesBetween(auditedDomain(domain), auditedDomain(next)),
  })
  return { ...next, version: domain.version + 1 }
}
