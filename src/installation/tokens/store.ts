import { z } from 'zod'
import { idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'

const tokenRow = z.object({
  id: z.uuid(),
  application: z.string(),
  /** Event types and prefixes; null for all. */
  event_types: z.array(z.string()).nullable(),
  /** Null for all. */
  tenant_ids: z.array(z.uuid()).nullable(),
  created_at: z.number(),
  expires_at: z.number(),
  revoked_at: z.number().nullable(),
  last_used_at: z.number().nullable(),
})

/** A token of an application, without its hash. Times in ms since 1970. */
export type TokenRow = z.infer<typeof tokenRow>

const columns = sql.fragment`
  id, application, event_types, tenant_ids, created_at, expires_at, revoked_at, last_used_at`

/** All tokens of applications, newest first. */
export function listTokens(tx: Tx): Promise<readonly TokenRow[]> {
  return tx.any(sql.type(tokenRow)`
    select ${columns} from application_tokens order by created_at desc, id desc limit 1000`)
}

const hashedRow = tokenRow.extend({ token_hash: z.instanceof(Buffer) })

/** A token by its id, or null. */
export function findToken(tx: Pick<Tx, 'maybeOne'>, id: string) {
  return tx.maybeOne(sql.type(hashedRow)`
    select ${columns}, token_hash from application_tokens where id = ${id}`)
}

const tenantRow = z.object({ id: z.uuid(), slug: z.string() })

/** The tenants with these slugs that are not deleted. */
export function listTenantsWithSlugs(tx: Tx, slugs: readonly string[]) {
  return tx.any(sql.type(tenantRow)`
    select id, slug from tenants where slug = any(${sql.array(slugs, 'text')}) and deleted_at is null`)
}

/** The slugs of these tenants. */
export function listSlugs(tx: Tx, ids: readonly string[]) {
  return tx.any(sql.type(tenantRow)`select id, slug from tenants where id = any(${sql.array(ids, 'uuid')})`)
}

/** What a token reads: event types or prefixes, and tenants; null for all. */
export interface Reads {
  eventTypes: readonly string[] | null
  tenantIds: readonly string[] | null
}

/** Inserts a token. Tokens that expired more than 30 days ago go. */
export async function insertToken(
  tx: Tx,
  token: { id: string; application: string; hash: Buffer; reads: Reads; at: number; expiresAt: number },
): Promise<void> {
  tx.later(sql.unsafe`
    delete from application_tokens where expires_at < ${instant(token.at - 30 * 86_400_000)}`)
  const { eventTypes, tenantIds } = token.reads
  tx.later(sql.unsafe`
    insert into application_tokens (id, application, token_hash, event_types, tenant_ids, created_at, expires_at)
    values (${token.id}, ${token.application}, ${sql.binary(token.hash)},
            ${eventTypes && sql.array(eventTypes, 'text')}, ${tenantIds && sql.array(tenantIds, 'uuid')},
            ${instant(token.at)}, ${instant(token.expiresAt)})`)
}

/** Notes that a token was used at `at`, at most once a minute. */
export async function recordUse(tx: Tx, { id, at }: { id: string; at: number }): Promise<void> {
  await tx.query(sql.unsafe`
    update application_tokens set last_used_at = ${instant(at)}
    where id = ${id} and coalesce(last_used_at <= ${instant(at - 60_000)}, true)`)
}

/** Revokes a token; false if there is none with this id that is not revoked. */
export async function revokeToken(tx: Tx, { id, at }: { id: string; at: number }): Promise<boolean> {
  const revoked = await tx.maybeOne(sql.type(idRow)`
    update application_tokens set revoked_at = ${instant(at)}
    where id = ${id} and revoked_at is null returning id`)
  return revoked !== null
}
