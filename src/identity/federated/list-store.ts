import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { countRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { defineList, type ListPage } from '../../lists/list.ts'

const listedRow = z.object({
  id: z.uuid(),
  provider: z.string(),
  /** Of the connection that the provider is, if it is one of the caller's tenant. */
  name: z.string().nullable(),
  kind: z.enum(['oidc', 'saml']).nullable(),
  email: z.string().nullable(),
  created_at: z.number(),
  last_used_at: z.number().nullable(),
})

export type ListedIdentity = z.infer<typeof listedRow>

/** Identities are listed oldest first. */
export const identityList = defineList({
  id: { column: sql.fragment`i.id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`i.created_at`, field: 'created_at' } },
})

const listed = sql.fragment`
  select i.id, i.provider, c.name, c.kind, i.email, i.created_at, i.last_used_at
  from federated_identities i left join connections c on c.tenant_id = i.tenant_id and c.id = i.connection_id`

/** A page of a person's identities. */
export function listIdentities(
  read: Read,
  userId: string,
  page: ListPage,
): Promise<readonly ListedIdentity[]> {
  return read.any(sql.type(listedRow)`${listed} where i.user_id = ${userId} ${page.tail}`)
}

/** How many identities {@link listIdentities} lists over all pages. */
export function countIdentities(read: Read, userId: string, page: ListPage): Promise<number> {
  return read.oneFirst(sql.type(countRow)`
    select count(*) from federated_identities i where i.user_id = ${userId} ${page.conditions}`)
}

/** One of a person's identities, or null. */
export function findIdentityOf(read: Read, userId: string, id: string): Promise<ListedIdentity | null> {
  return read.maybeOne(sql.type(listedRow)`${listed} where i.user_id = ${userId} and i.id = ${id}`)
}

const waysRow = z.object({ password_hash: z.string(), has_passkey: z.boolean(), has_identity: z.boolean() })

/** What a person can sign in with besides one identity. `at` in ms since 1970. As the system role. */
export function findOtherWays(
  tx: Tx,
  { userId, id, providers, at }: { userId: string; id: string; providers: readonly string[]; at: number },
): Promise<z.infer<typeof waysRow>> {
  return tx.one(sql.type(waysRow)`
    select u.password_hash,
      exists (select 1 from passkeys p
              where p.user_id = u.id and coalesce(p.counts_from <= ${instant(at)}, true)) as has_passkey,
      exists (select 1 from federated_identities i
              left join connections c on c.tenant_id = i.tenant_id and c.id = i.connection_id
              where i.user_id = u.id and i.id <> ${id}
                and (i.provider = any(${sql.array(providers, 'text')}) or c.status = 'active')) as has_identity
    from users u where u.id = ${userId}`)
}
