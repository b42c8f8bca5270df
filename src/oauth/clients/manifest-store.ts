import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import type { Statements } from '../../database/executor/statements.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import type { ClientFields, ClientUse } from './store.ts'

const fields = z.custom<Partial<ClientFields> & Pick<ClientFields, 'kind'>>(
  (value) => typeof value === 'object' && value !== null,
)
const manifestClientRow = z.object({
  id: z.uuid(),
  fields,
  is_active: z.boolean(),
  consents_from: z.number(),
  created_at: z.number(),
  last_used_at: z.number().nullable(),
  secret_hashes: z.array(z.string()),
  secret_uses: z.array(z.number()),
})

/** A client of a manifest, with the hashes of its secrets in hex. */
export type ManifestClientRow = z.infer<typeof manifestClientRow>

/** A client of a manifest, or null. As the system role. */
export function findManifestClient(read: Read, id: string): Promise<ManifestClientRow | null> {
  const secrets = sql.fragment`
    from manifest_client_secrets s where s.client_id = ${id} order by s.created_at, s.id`
  return read.maybeOne(sql.type(manifestClientRow)`
    select id, fields, is_active, consents_from, created_at, last_used_at,
           array(select encode(s.secret_hash, 'hex') ${secrets}) as secret_hashes,
           array(select coalesce(s.last_used_at, 'epoch') ${secrets}) as secret_uses
    from manifest_clients where id = ${id}`)
}

/** Stores a client of a manifest. `voids`: earlier consents count no more. As the system role. */
export function putManifestClient(
  tx: Tx,
  client: { id: string; application: string; key: string; fields: object; voids: boolean; at: number },
): void {
  const at = instant(client.at)
  tx.later(sql.unsafe`
    insert into manifest_clients (id, application, key, fields, is_active, consents_from, created_at)
    values (${client.id}, ${client.application}, ${client.key}, ${sql.jsonb(client.fields as never)}, true, ${at}, ${at})
    on conflict (id) do update set fields = excluded.fields, is_active = true,
      consents_from = case when ${client.voids} then excluded.consents_from else manifest_clients.consents_from end`)
}

/** Disables the clients of an application that its manifest no longer has. As the system role. */
export function disableOtherClients(tx: Tx, application: string, ids: readonly string[]): void {
  tx.later(sql.unsafe`
    update manifest_clients set is_active = false
    where application = ${application} and id <> all(${sql.array(ids, 'uuid')})`)
}

/** Locks a client of a manifest until the transaction ends. As the system role. */
export function lockManifestClient(tx: Tx, id: string): void {
  tx.later(sql.unsafe`select 1 from manifest_clients where id = ${id} for no key update`)
}

/** Inserts a secret of a client. As the system role. */
export function insertManifestSecret(
  tx: Tx,
  secret: { id: string; clientId: string; hash: Buffer; at: number },
): void {
  tx.later(sql.unsafe`
    insert into manifest_client_secrets (id, client_id, secret_hash, created_at)
    values (${secret.id}, ${secret.clientId}, ${sql.binary(secret.hash)}, ${instant(secret.at)})`)
}

/** Deletes the secrets of a client but the newest. As the system role. */
export function deleteOldManifestSecrets(tx: Tx, clientId: string): void {
  tx.later(sql.unsafe`
    delete from manifest_client_secrets where client_id = ${clientId} and id not in (
      select id from manifest_client_secrets where client_id = ${clientId}
      order by created_at desc, id desc limit 1)`)
}

/** Notes the use of a client, and of its secret with this hash, to the minute. */
export async function recordManifestUse(
  statements: Statements,
  { client: { id }, secretHash }: ClientUse,
  now: number,
): Promise<void> {
  const stale = sql.fragment`(last_used_at is null or last_used_at < ${instant(now - 60_000)})`
  await Promise.all([
    statements.query(sql.unsafe`
      update manifest_clients set last_used_at = ${instant(now)} where id = ${id} and ${stale}`),
    secretHash &&
      statements.query(sql.unsafe`
        update manifest_client_secrets set last_used_at = ${instant(now)}
        where client_id = ${id} and secret_hash = ${sql.binary(secretHash)} and ${stale}`),
  ])
}
