import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { defineList, type ListPage } from '../../lists/list.ts'
import type { ClientKey } from '../clients/client-id.ts'
import { trustTerms } from '../clients/store.ts'

// A trust is a row of `oauth_clients` whose workload shows a JWT of another issuer in place of a secret. So its tokens, their scopes and
// their end are those of a machine. The routes of applications do not show it.

const trustRow = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  service_account_id: z.uuid(),
  scopes: z.array(z.string()),
  trust: trustTerms,
  trust_ends_at: z.number().nullable(),
  created_by: z.uuid(),
  created_at: z.number(),
  last_used_at: z.number().nullable(),
})

export type TrustRow = z.infer<typeof trustRow>

/** Whose trusts: those of a service account. */
export interface TrustsOf {
  tenantId: string
  accountId: string
}

const columns = sql.fragment`
  tenant_id, id, service_account_id, scopes, trust, trust_ends_at, created_by, created_at, last_used_at`

const ofAccount = ({ tenantId, accountId }: TrustsOf) => sql.fragment`
  tenant_id = ${tenantId} and service_account_id = ${accountId} and trust is not null`

/** The trusts of a service account. */
export const trustList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`created_at`, field: 'created_at' } },
})

/** A page of the trusts of a service account. */
export const listTrusts = (read: Read, account: TrustsOf, page: ListPage): Promise<readonly TrustRow[]> =>
  read.any(sql.type(trustRow)`
    select ${columns} from oauth_clients where ${ofAccount(account)} ${page.tail}`)

/** How many match the filters; without `page`, how many there are. */
export const countTrusts = (read: Read, account: TrustsOf, page?: ListPage): Promise<number> =>
  read.oneFirst(sql.type(countRow)`
    select count(*) from oauth_clients where ${ofAccount(account)} ${page?.conditions ?? sql.fragment``}`)

/** One trust of a service account, or null. */
export const findTrust = (read: Read, account: TrustsOf, id: string): Promise<TrustRow | null> =>
  read.maybeOne(sql.type(trustRow)`
    select ${columns} from oauth_clients where ${ofAccount(account)} and id = ${id}`)

const namedRow = z.object({ tenant_id: z.uuid(), id: z.uuid(), trust: trustTerms })

/** The trusts in an issuer of the service account with this id, at `now` (ms since 1970). It names no tenant: as the system role. */
export const listTrustsNamed = (
  read: Read,
  { accountId, issuer, now }: { accountId: string; issuer: string; now: number },
): Promise<readonly z.infer<typeof namedRow>[]> =>
  read.any(sql.type(namedRow)`
    select tenant_id, id, trust from oauth_clients
    where service_account_id = ${accountId} and trust is not null and trust ->> 'issuer' = ${issuer} and is_active
      and (trust_ends_at is null or trust_ends_at > ${instant(now)})
    order by created_at, id`)

/** Deletes a trust; false if it is gone. */
export async function deleteTrust(tx: Tx, { tenantId, id }: ClientKey): Promise<boolean> {
  const gone = await tx.maybeOne(sql.type(idRow)`
    delete from oauth_clients where tenant_id = ${tenantId} and id = ${id} and trust is not null returning id`)
  return gone !== null
}

/** Inserts a trust. Times in ms since 1970. */
export function insertTrust(tx: Tx, row: Omit<TrustRow, 'last_used_at'> & { name: string }): void {
  const when = instant(row.created_at)
  const endsAt = row.trust_ends_at === null ? null : instant(row.trust_ends_at)
  tx.later(sql.unsafe`
    insert into oauth_clients (tenant_id, id, name, kind, redirect_uris, post_logout_redirect_uris, scopes, grant_types,
      token_endpoint_auth_method, id_token_signed_response_alg, require_pkce, first_party, service_account_id, is_active,
      trust, trust_ends_at, consents_from, created_by, created_at, updated_at)
    values (${row.tenant_id}, ${row.id}, ${row.name}, 'machine', '{}', '{}', ${sql.array(row.scopes, 'text')}, '{}',
      'none', 'RS256', false, false, ${row.service_account_id}, true,
      ${sql.jsonb(row.trust as never)}, ${endsAt}, ${when}, ${row.created_by}, ${when}, ${when})`)
}
