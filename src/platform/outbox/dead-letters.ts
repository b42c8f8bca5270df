import { z } from 'zod'
import { sql, type Tx } from '../db/transaction.ts'

const deadLetter = z.object({
  id: z.uuid(),
  tenant_id: z.uuid(),
  queue: z.string(),
  created_at: z.number(),
  failed_at: z.number(),
  attempts: z.number(),
  error: z.string(),
})

/** A message that was given up; `error` is free of secrets. */
export type DeadLetter = z.infer<typeof deadLetter>

const ofQueue = (queue: string | undefined) =>
  sql.fragment`(${queue ?? null}::text is null or queue = ${queue ?? null})`

/** Up to `limit` dead letters, latest first; as the worker role. */
export function listDeadLetters(
  tx: Tx,
  { queue, limit }: { queue?: string | undefined; limit: number },
): Promise<readonly DeadLetter[]> {
  return tx.any(sql.type(deadLetter)`
    select id, tenant_id, queue, created_at, failed_at, attempts, error from dead_letters
    where ${ofQueue(queue)} order by failed_at desc, id desc limit ${limit}`)
}

/** Which dead letters go back: one by its id, or those given up until `before` (ms since 1970), of a queue or of all. */
export type Replayed = { id: string } | { queue?: string | undefined; before: number }

/**
 * Moves up to `limit` dead letters back to the outbox, in one statement, from where the relay puts them on their
 * queue anew; gives how many. One whose work an other message of the outbox does already is only taken away. Those
 * that die again meanwhile are later than `before`, so that a caller who repeats this comes to an end. As the worker role.
 */
export async function replayDeadLetters(tx: Tx, which: Replayed, limit: number): Promise<number> {
  const wanted =
    'id' in which
      ? sql.fragment`id = ${which.id}`
      : sql.fragment`${ofQueue(which.queue)} and failed_at <= ${sql.timestamp(new Date(which.before))}`
  return tx.oneFirst(sql.type(z.object({ count: z.number() }))`
    with gone as (
      delete from dead_letters d
      using (select tenant_id, id from dead_letters where ${wanted} order by failed_at, id limit ${limit}) w
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

/** Deletes up to `limit` dead letters that were given up before `before` (ms since 1970); as the worker role. */
export function deleteDeadLetters(
  tx: Tx,
  { before, limit }: { before: number; limit: number },
): Promise<readonly z.infer<typeof purged>[]> {
  return tx.any(sql.type(purged)`
    delete from dead_letters d
    using (select tenant_id, id from dead_letters where failed_at < ${sql.timestamp(new Date(before))}
           order by failed_at, id limit ${limit}) w
    where d.tenant_id = w.tenant_id and d.id = w.id
    returning d.tenant_id, d.queue, d.payload`)
}
