import { z } from 'zod'
import { asWorker, type Databases, isDatabaseUnavailable, sql, type Tx } from '../db/transaction.ts'
import { outsideSpans } from '../tracing/span.ts'
import type { Delivery } from './acknowledge.ts'

type Waiting = Delivery & { done: (settled: boolean) => void; failed: (error: unknown) => void }
const found = z.object({ id: z.string() })

/** Most messages of one transaction. */
const most = 100

/**
 * Like `acknowledge` for effects that are one statement over many messages: those that come while a transaction is
 * under way share the next one, which is what a commit costs. `effect` gets the messages that were still there.
 * Where a shared transaction fails, each of its messages gets one of its own: one that is broken fails alone.
 */
export function acknowledgeTogether(
  db: Pick<Databases, 'worker'>,
  effect: (tx: Tx, settled: Delivery[]) => Promise<void>,
): (delivery: Delivery) => Promise<boolean> {
  const waiting: Waiting[] = []
  let busy = false

  const settleAll = (group: Waiting[]): Promise<Set<string>> =>
    asWorker(db, async (tx) => {
      const rows = await tx.any(sql.type(found)`
        delete from outbox o
        using ${sql.unnest(
          group.map(({ tenantId, id }) => [tenantId, id]),
          ['uuid', 'uuid'],
        )} as g (tenant_id, id)
        where o.tenant_id = g.tenant_id and o.id = g.id returning o.id`)
      const gone = new Set(rows.map((row) => row.id))
      const settled = group.filter(({ id }) => gone.has(id))
      if (settled.length > 0) await effect(tx, settled)
      return gone
    })

  const answer = (group: Waiting[]): Promise<void> =>
    settleAll(group).then(
      (gone) => {
        for (const { id, done } of group) done(gone.has(id))
      },
      async (error) => {
        if (group.length > 1 && !isDatabaseUnavailable(error)) for (const one of group) await answer([one])
        else for (const { failed } of group) failed(error)
      },
    )

  const drain = async () => {
    busy = true
    while (waiting.length > 0) await answer(waiting.splice(0, most))
    busy = false
  }

  return (delivery) =>
    new Promise((done, failed) => {
      waiting.push({ ...delivery, done, failed })
      if (!busy) outsideSpans(drain)
    })
}
