import { nilUuid } from '../crypto/uuid.ts'
import { ApiError } from '../errors.ts'
import { dayOf } from './daily-counts.ts'
import { sql, type Tx } from './executor/transaction.ts'

/**
 * How a change counts. What takes access or rights away counts apart from what `adds`, so that it keeps no one from adding:
 * one that `removes` is never refused, one that `asks_to_remove` (by an approval request, which can be cancelled and made
 * again without end) only when such changes used up a quota of their own.
 */
export type LogUse = 'adds' | 'removes' | 'asks_to_remove'

/** A change whose log is counted. */
interface CountedChange {
  caller: {
    tenantId: string
    userId: string
    impersonatorId?: string | undefined
    keyMakerId?: string | undefined
  }
  /** in ms since 1970 */
  at: number
  use: LogUse
}

export interface LogQuota {
  LIMIT_LOG_MB_PER_DAY: number
}

const megabyte = 1_000_000
const dayMs = 86_400_000
/** A person's part of the tenant's quota. */
const personalShare = 0.1
/** Bytes of a row without its JSON, with its entries in indexes. */
const rowBytes = 400

const counted = new WeakMap<Tx, CountedChange & { bytes: number }>()

/**
 * From now on, what the transaction writes into the tenant's versions, audit log, events and approval requests counts
 * against LIMIT_LOG_MB_PER_DAY, and against the tenth of it that a person has, also with the keys of service accounts that
 * they made. The commit fails with 429 `quota_exceeded` when there is not enough left.
 */
export function countLog(tx: Tx, quota: LogQuota, change: CountedChange): void {
  const known = counted.get(tx)
  if (known) return void Object.assign(known, change)
  const current = { ...change, bytes: 0 }
  counted.set(tx, current)
  tx.atCommit(() => {
    if (current.bytes > 0) addBytes(tx, quota.LIMIT_LOG_MB_PER_DAY * megabyte, current)
  })
}

/** Counts a row with these values as JSON or bytes, if the transaction is one whose log is counted. */
export function noteLogged(tx: Tx, ...values: readonly unknown[]): void {
  const current = counted.get(tx)
  if (current) current.bytes += values.reduce((sum: number, value) => sum + sizeOf(value), rowBytes)
}

const sizeOf = (value: unknown) =>
  value instanceof Buffer ? value.length : Buffer.byteLength(JSON.stringify(value) ?? '')

/** The statement goes out with the commit, because no two changes of a tenant can commit while its row is locked. */
function addBytes(
  tx: Tx,
  limit: number,
  { caller, at, use, bytes }: CountedChange & { bytes: number },
): void {
  const day = dayOf(at)
  const row = (userId: string, most: number) =>
    use === 'adds'
      ? sql.fragment`(${caller.tenantId}, ${userId}, ${day}, ${bytes}, ${most}, 0, null)`
      : sql.fragment`(${caller.tenantId}, ${userId}, ${day}, 0, null, ${bytes}, ${use === 'removes' ? null : most})`
  const person = caller.impersonatorId ?? caller.keyMakerId ?? caller.userId
  tx.later(
    sql.unsafe`
      insert into log_counts as c (tenant_id, user_id, day, used, most, removed, most_removed)
      values ${row(person, Math.floor(limit * personalShare))}, ${row(nilUuid, limit)}
      on conflict (tenant_id, user_id) do update set
        day = greatest(c.day, excluded.day),
        used = excluded.used + case when c.day < excluded.day then 0 else c.used end,
        most = excluded.most,
        removed = excluded.removed + case when c.day < excluded.day then 0 else c.removed end,
        most_removed = excluded.most_removed`,
    () => quotaExceeded(at),
  )
}

/** Deletes at most `limit` counts of days before that of `before` (ms); returns how many. As the worker role. */
export async function deleteLogCountsBefore(tx: Tx, before: number, limit: number): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    delete from log_counts where (tenant_id, user_id) in (
      select tenant_id, user_id from log_counts where day < ${dayOf(before)} order by day limit ${limit})`)
  return rowCount
}

const quotaExceeded = (at: number) =>
  new ApiError(
    429,
    'quota_exceeded',
    'What the changes of a day may add to the logs and histories of this tenant is used up, or the tenth of it that one person may. ' +
      'Try again after midnight (UTC). Deleting, suspending and switching off still work.',
    { headers: { 'Retry-After': String(Math.ceil((dayMs - (at % dayMs)) / 1_000)) } },
  )
