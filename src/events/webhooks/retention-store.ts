import { z } from 'zod'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import { earliestId } from '../../platform/outbox/time-ordered-id.ts'

/** Deletes deliveries that ended before `before` (ms), at most `most`; gives how many. As the worker role. */
export async function deleteEndedBefore(tx: Tx, before: number, most: number): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    delete from webhook_deliveries where (tenant_id, id) in (
      select tenant_id, id from webhook_deliveries where ended_at < ${sql.timestamp(new Date(before))}
      order by ended_at limit ${most})`)
  return rowCount
}

/**
 * Gives up open deliveries, at most `most`, whose event happened before `before` (ms since 1970) and is deleted next:
 * those of a tenant that was suspended for so long. `now` is when they end. Gives how many. As the worker role.
 */
export async function giveUpWithoutEvent(tx: Tx, before: number, now: number, most: number): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    update webhook_deliveries d set status = 'dead', next_attempt_at = null, ended_at = ${sql.timestamp(new Date(now))}
    from (
      select o.tenant_id, o.id from webhooks w cross join lateral (
        select tenant_id, id from webhook_deliveries e
        where e.tenant_id = w.tenant_id and e.webhook_id = w.id and e.status in ('pending', 'failed')
          and e.event_id < ${earliestId(before)}
        limit ${most}) o
      limit ${most}) old
    where d.tenant_id = old.tenant_id and d.id = old.id and d.status in ('pending', 'failed')`)
  return rowCount
}

const goneRow = z.object({ tenant_id: z.string(), webhook_id: z.string() })

/**
 * The webhooks that are gone, and have deliveries. As the worker role. Goes from webhook to webhook along the index,
 * however many deliveries each of them has.
 */
export function listGone(tx: Tx): Promise<readonly z.infer<typeof goneRow>[]> {
  return tx.any(sql.type(goneRow)`
    with recursive known as (
      (select tenant_id, webhook_id from webhook_deliveries order by tenant_id, webhook_id limit 1)
      union all
      select next.tenant_id, next.webhook_id from known k cross join lateral (
        select tenant_id, webhook_id from webhook_deliveries d
        where (d.tenant_id, d.webhook_id) > (k.tenant_id, k.webhook_id) order by tenant_id, webhook_id limit 1) next
    )
    select tenant_id, webhook_id from known k
    where not exists (select from webhooks w where w.tenant_id = k.tenant_id and w.id = k.webhook_id)`)
}

/** Deletes deliveries of a webhook, at most `most`; gives how many. As the worker role. */
export async function deleteDeliveriesOf(
  tx: Tx,
  { tenant_id, webhook_id }: z.infer<typeof goneRow>,
  most: number,
): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    delete from webhook_deliveries where (tenant_id, id) in (
      select tenant_id, id from webhook_deliveries
      where tenant_id = ${tenant_id} and webhook_id = ${webhook_id} limit ${most})`)
  return rowCount
}
