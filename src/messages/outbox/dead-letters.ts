import { z } from 'zod'
import { countRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { type DeadLetterReason, deadLetterReasons } from './acknowledge.ts'
import { wakeRelays } from './wake-relays.ts'

const reason = z.enum(deadLetterReasons)
const deadLetter = z.object({
  id: z.uuid(),
  tenant_id: z.uuid(),
  queue: z.string(),
  created_at: z.number(),
  failed_at: z.number(),
  attempts: z.number(),
  reason,
  error: z.string(),
})

/** A message that was given up; `error` is free of secrets. */
export type DeadLetter = z.infer<typeof deadLetter>

/** Selects the dead letters that meet each given condition. `before` is in ms since 1970. */
export interface DeadLetterFilter {
  id?: string | undefined
  queue?: string | undefined
  reason?: DeadLetterReason | undefined
  before?: number | undefined
}

const matches = ({ id, queue, reason, before }: DeadLetterFilter) => {
  const until = before === undefined ? null : new Date(before).toISOString()
  return sql.fragment`(${id ?? null}::uuid is null or id = ${id ?? null})
    and (${queue ?? null}::text is null or queue = ${queue ?? null})
    and (${reason ?? null}::text is null or reason = ${reason ?? null})
    and (${until}::timestamptz is null or failed_at < ${until})`
}

/** Up to `limit` dead letters, latest first. As the worker role. */
export function listDeadLetters(
  tx: Tx,
  filter: DeadLetterFilter,
  limit: number,
): Promise<readonly DeadLetter[]> {
  return tx.any(sql.type(deadLetter)`
    select id, tenant_id, queue, created_at, failed_at, attempts, reason, error from dead_letters
    where ${matches(filter)} order by failed_at desc, id desc limit ${limit}`)
}

/**
 * Moves up to `limit` dead letters back to the outbox in one statement; the relay then puts them on their queues again.
 * Gives how many. A letter whose work another outbox message already does is only deleted. Letters that fail again are
 * later than `before`, so a caller that repeats this terminates. As the worker role.
 */
export async function replayDeadLetters(tx: Tx, filter: DeadLetterFilter, limit: number): Promise<number> {
  wakeRelays(tx)
  return tx.oneFirst(sql.type(countRow)`
    with gone as (
      delete from dead_letters d
      using (select tenant_id, id from dead_letters where ${matches(filter)} order by failed_at, id limit ${limit}) w
      where d.tenant_id = w.tenant_id and d.id = w.id
      returning d.tenant_id, d.id, d.queue, d.payload, d.created_at
    ), back as (
      insert into outbox (tenant_id, id, queue, payload, created_at)
      select tenant_id, id, queue, payload, created_at from gone
      on conflict do nothing
    )
    select count(*) from gone`)
}

const purged = z.object({ tenant_id: z.uuid(), queue: z.string(), payload: z.unknown() })

/** Deletes up to `limit` dead letters, oldest first. As the worker role. */
export function deleteDeadLetters(
  tx: Tx,
  filter: DeadLetterFilter,
  limit: number,
): Promise<readonly z.infer<typeof purged>[]> {
  return tx.any(sql.type(purged)`
    delete from dead_letters d
    using (select tenant_id, id from dead_letters where ${matches(filter)}
           order by failed_at, id limit ${limit}) w
    where d.tenant_id = w.tenant_id and d.id = w.id
    returning d.tenant_id, d.queue, d.payload`)
}
