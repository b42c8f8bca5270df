import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import type { ClientKey } from '../clients/client-id.ts'
import { hashOfModel, tenantOf } from '../store.ts'

const rowName = /^row\.([\da-f]{64})$/

/** The key of a row: of a device code, or of the name that pages have for it. */
function keyOf(id: string) {
  const [, hex] = rowName.exec(id) ?? []
  return sql.binary(hex ? Buffer.from(hex, 'hex') : hashOfModel('DeviceCode', id))
}

interface NewDevice {
  id: string
  userCodeHash: Buffer
  client: ClientKey
  payload: object
  /** ms since 1970 */
  at: number
  expiresAt: number
}

/** Inserts the code of a device that waits. As the system role. */
export function insertDevice(tx: Tx, { id, userCodeHash, client, payload, at, expiresAt }: NewDevice): void {
  tx.later(sql.unsafe`
    insert into oauth_models (id_hash, kind, user_code_hash, tenant_id, client_id, payload, created_at, expires_at)
    values (${keyOf(id)}, 'DeviceCode', ${sql.binary(userCodeHash)}, ${tenantOf(client)}, ${client.id},
            ${sql.jsonb(payload as never)}, ${instant(at)}, ${instant(expiresAt)})`)
}

const deviceRow = z.object({
  id_hash: z.instanceof(Buffer),
  payload: z.record(z.string(), z.unknown()),
  created_at: z.number(),
  consumed_at: z.number().nullable(),
  session_id: z.uuid().nullable(),
})

const columns = sql.fragment`id_hash, payload, created_at, consumed_at, session_id`

/** A device code that is kept, or null. As the system role. */
export function findDevice(read: Read, id: string, now: number) {
  return read.maybeOne(sql.type(deviceRow)`
    select ${columns} from oauth_models
    where id_hash = ${keyOf(id)} and kind = 'DeviceCode' and expires_at > ${instant(now)}`)
}

const isUndecided = sql.fragment`grant_id is null and payload->>'error' is null and consumed_at is null`

/** The device that waits since `since` or later with one of these codes, or null. As the system role. */
export function findWaitingDevice(read: Read, userCodeHashes: readonly Buffer[], since: number) {
  const hashes = sql.join(
    userCodeHashes.map((hash) => sql.binary(hash)),
    sql.fragment`, `,
  )
  return read.maybeOne(sql.type(deviceRow)`
    select ${columns} from oauth_models
    where user_code_hash in (${hashes}) and ${isUndecided} and created_at > ${instant(since)}`)
}

const keyRow = z.object({ id_hash: z.instanceof(Buffer) })

interface Decision {
  id: string
  payload: { sessionUid?: string; accountId?: string; grantId?: string }
  /** That of the person; null if a client of a manifest is refused before it has one. */
  tenantId: string | null
  since: number
}

/** Keeps what a person decided; false if that was done before, or the device waits since before `since`. As the system role. */
export async function decideDevice(tx: Tx, { id, payload, tenantId, since }: Decision): Promise<boolean> {
  const { sessionUid = null, accountId = null, grantId = null } = payload
  const row = await tx.maybeOne(sql.type(keyRow)`
    update oauth_models set payload = ${sql.jsonb(payload as never)}, session_id = ${sessionUid}, user_id = ${accountId},
                            grant_id = ${grantId}, tenant_id = coalesce(${tenantId}::uuid, tenant_id)
    where id_hash = ${keyOf(id)} and kind = 'DeviceCode' and ${isUndecided} and created_at > ${instant(since)}
    returning id_hash`)
  return row !== null
}

/** Notes that a device asks; false if it last did after `since`. As the system role. */
export async function notePoll(
  tx: Tx,
  { id, at, since }: { id: string; at: number; since: number },
): Promise<boolean> {
  const row = await tx.maybeOne(sql.type(keyRow)`
    update oauth_models set polled_at = ${instant(at)}
    where id_hash = ${keyOf(id)} and (polled_at is null or polled_at <= ${instant(since)}) returning id_hash`)
  return row !== null
}
