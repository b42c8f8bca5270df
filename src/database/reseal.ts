import { z } from 'zod'
import type { Purpose, Sealer } from '../crypto/seal.ts'
import { asSystem, asWorker, type Databases, sql, type Tx } from './executor/transaction.ts'

/** A column whose values are encrypted by SECRET_KEYS. */
export interface SealedColumn {
  table: string
  /** The columns of its primary key, and their common type. */
  key: string[]
  keyType: 'uuid' | 'text'
  column: string
  purpose: Purpose
  /** The run-time role that reads and writes the column in every tenant. */
  role: 'system' | 'worker'
  /** The context that the value is bound to, from the values of `key`. */
  context(key: string[]): string
}

/** A column of a table whose rows have an id in their tenant. */
const ofTenant = (
  table: string,
  column: string,
  more: Pick<SealedColumn, 'purpose' | 'role'>,
): SealedColumn => ({
  ...{ table, column, ...more },
  key: ['tenant_id', 'id'],
  keyType: 'uuid',
  context: ([tenantId, id]) => `${tenantId}.${id}`,
})

/** Every encrypted column. A test compares the list with the catalogue. */
export const sealedColumns: readonly SealedColumn[] = [
  ofTenant('idempotency_keys', 'answer_sealed', { purpose: 'idempotency', role: 'worker' }),
  ofTenant('connections', 'client_secret_sealed', { purpose: 'connection', role: 'system' }),
  ofTenant('stored_calls', 'call_sealed', { purpose: 'stored-call', role: 'worker' }),
  ofTenant('webhooks', 'secret_sealed', { purpose: 'webhook', role: 'worker' }),
  ofTenant('webhooks', 'previous_secret_sealed', { purpose: 'webhook', role: 'worker' }),
  {
    ...ofTenant('connection_sign_ins', 'claims_sealed', { purpose: 'federation', role: 'worker' }),
    key: ['tenant_id', 'connection_id', 'id'],
    context: ([tenantId, , id]) => `${tenantId}.${id}`,
  },
  ...['kept_sealed', 'answer_sealed', 'asserted_sealed'].map(
    (column): SealedColumn => ({
      table: 'federation_flows',
      key: ['id'],
      keyType: 'uuid',
      column,
      purpose: 'federation',
      role: 'system',
      context: ([id]) => id!,
    }),
  ),
  {
    table: 'mails',
    key: ['tenant_id', 'id'],
    keyType: 'uuid',
    column: 'content_sealed',
    purpose: 'mail',
    role: 'worker',
    context: ([, id]) => id!,
  },
  {
    table: 'otp_devices',
    key: ['user_id', 'id'],
    keyType: 'uuid',
    column: 'secret_sealed',
    purpose: 'totp',
    role: 'system',
    context: ([userId, id]) => `${userId}.${id}`,
  },
  ...['id_token_keys', 'signing_keys'].map(
    (table): SealedColumn => ({
      table,
      key: ['kid'],
      keyType: 'text',
      column: 'private_jwk_sealed',
      purpose: 'signing-key',
      role: 'system',
      context: ([kid]) => kid!,
    }),
  ),
  ...['secret_sealed', 'previous_secret_sealed'].map(
    (column): SealedColumn => ({
      table: 'manifest_webhooks',
      key: ['application', 'key'],
      keyType: 'text',
      column,
      purpose: 'webhook',
      role: 'system',
      context: ([application, key]) => `manifest.${application}.${key}`,
    }),
  ),
]

/** The result for the values of a column that an older key had encrypted. */
export interface Resealed {
  table: string
  /** At most so many: a value that another transaction has replaced meanwhile stays as that one wrote it. */
  resealed: number
  /** Values that no key of SECRET_KEYS decrypts. */
  lost: number
}

const pageSize = 200

/**
 * Encrypts again, with the first of SECRET_KEYS, every value that an older key encrypted. It works page by page while
 * the service runs, and skips a value that changes meanwhile. Running it again changes nothing.
 */
export async function resealAll(
  db: Pick<Databases, 'system' | 'worker'>,
  sealer: Sealer,
): Promise<Resealed[]> {
  const results: Resealed[] = []
  for (const column of sealedColumns) {
    const result: Resealed = { table: column.table, resealed: 0, lost: 0 }
    for (let after: string[] | null = null, more = true; more; ) {
      const page: Page = await inRole(db, column.role, (tx) => resealPage(tx, sealer, column, after))
      result.resealed += page.resealed
      result.lost += page.lost
      after = page.last
      more = page.last !== null
    }
    results.push(result)
  }
  return results
}

/** No key of SECRET_KEYS decrypts the values in this database. The message is for an operator. */
export class WrongSecretKeys extends Error {}

const oneRow = z.object({ one: z.number() })

/**
 * Throws {@link WrongSecretKeys} when there are encrypted values in the columns that the given roles read, and no key of
 * the sealer fits any of them; with `each`, any of one column. It accepts single lost values, which `keys:reseal` reports.
 */
export async function assertKeysOpen(
  db: Partial<Pick<Databases, 'system' | 'worker'>>,
  sealer: Sealer,
  { each = false } = {},
): Promise<void> {
  const foreign: string[] = []
  for (const { table, column, role } of sealedColumns) {
    if (!db[role]) continue
    const [from, name] = [sql.identifier([table]), sql.identifier([column])]
    const ours = sql.fragment`and substring(${name} from 1 for 4) = any(${sql.array(sealer.keyIds, 'bytea')})`
    // Two statements: Citus does not take "exists" over all nodes in a list of columns.
    const [sealed, known] = await inRole(db as Databases, role, (tx) =>
      Promise.all(
        [sql.fragment``, ours].map((condition) =>
          tx.any(
            sql.type(oneRow)`select 1 as one from ${from} where ${name} is not null ${condition} limit 1`,
          ),
        ),
      ),
    )
    if (known!.length > 0 && !each) return
    if (sealed!.length > 0 && known!.length === 0) foreign.push(`${table}.${column}`)
  }
  if (foreign.length > 0)
    throw new WrongSecretKeys(
      `SECRET_KEYS opens nothing that is sealed in this database (${foreign.join(', ')}): use the keys that the API of this installation uses`,
    )
}

const inRole = <T>(
  db: Pick<Databases, 'system' | 'worker'>,
  role: 'system' | 'worker',
  work: (tx: Tx) => Promise<T>,
) =>
  role === 'system' ? asSystem(db, 'keys of sealed values belong to no tenant', work) : asWorker(db, work)

interface Page {
  resealed: number
  lost: number
  /** Key of the last row of the page; null when the page is empty. */
  last: string[] | null
}

const sealedRow = z.object({ key: z.array(z.string()), sealed: z.instanceof(Buffer) })

async function resealPage(
  tx: Tx,
  sealer: Sealer,
  sealed: SealedColumn,
  after: string[] | null,
): Promise<Page> {
  const column = sql.identifier([sealed.column])
  const table = sql.identifier([sealed.table])
  const names = sql.join(
    sealed.key.map((name) => sql.identifier([name])),
    sql.fragment`, `,
  )
  const beyond = after && sql.fragment`and (${names}) > (${valuesOf(sealed, after)})`
  const rows = await tx.any(sql.type(sealedRow)`
    select array[${names}]::text[] as key, ${column} as sealed from ${table}
    where ${column} is not null ${beyond ?? sql.fragment``} order by ${names} limit ${pageSize}`)
  const page: Page = { resealed: 0, lost: 0, last: rows.at(-1)?.key ?? null }
  for (const row of rows) {
    if (!sealer.isStale(row.sealed)) continue
    const fresh = reseal(sealer, sealed, row)
    if (!fresh) page.lost++
    else
      tx.later(sql.unsafe`
        update ${table} set ${column} = ${sql.binary(fresh)}
        where (${names}) = (${valuesOf(sealed, row.key)}) and ${column} = ${sql.binary(row.sealed)}`)
    if (fresh) page.resealed++
  }
  return page
}

const valuesOf = ({ keyType }: SealedColumn, key: string[]) =>
  sql.join(
    key.map((value) => (keyType === 'uuid' ? sql.fragment`${value}::uuid` : sql.fragment`${value}::text`)),
    sql.fragment`, `,
  )

function reseal(sealer: Sealer, { purpose, context }: SealedColumn, row: z.infer<typeof sealedRow>) {
  try {
    const bound = context(row.key)
    return sealer.seal(purpose, sealer.open(purpose, row.sealed, bound), bound)
  } catch {
    return null
  }
}
