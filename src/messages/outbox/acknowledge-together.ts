import { z } from 'zod'
import { isPartAway } from '../../database/executor/database-errors.ts'
import {
  asWorker,
  type Databases,
  isDatabaseUnavailable,
  sql,
  type Tx,
} from '../../database/executor/transaction.ts'
import { ofTenants } from '../../database/of-tenants.ts'
import { outsideSpans } from '../../observe/tracing/span.ts'
import type { MessageKey } from '../queues/queued-message.ts'
import type { QueueName } from '../queues/queues.ts'

type Waiting = MessageKey & { done: (acknowledged: boolean) => void; failed: (error: unknown) => void }
const found = z.object({ id: z.string() })

/** Most messages of one transaction. */
const maxBatch = 100

/**
 * Like `acknowledge`, for effects that handle many messages in one statement. Messages that arrive while a transaction
 * runs share the next one, and so the cost of its commit. `effect` gets the messages that were still in the outbox.
 * When a shared transaction fails, each of its messages is retried in a transaction of its own, so only a broken one
 * fails.
 */
export function acknowledgeTogether(
  db: Pick<Databases, 'worker'>,
  queue: QueueName,
  effect: (tx: Tx, acknowledged: MessageKey[]) => Promise<void>,
): (delivery: MessageKey) => Promise<boolean> {
  const waiting: Waiting[] = []
  let busy = false

  const acknowledgeAll = (group: Waiting[]): Promise<Set<string>> =>
    asWorker(db, async (tx) => {
      const rows = await tx.any(sql.type(found)`
        delete from outbox o
        using ${sql.unnest(
          group.map(({ tenantId, id }) => [tenantId, id]),
          ['uuid', 'uuid'],
        )} as g (tenant_id, id)
        where o.tenant_id = g.tenant_id and o.id = g.id and o.queue = ${queue}
          ${ofTenants(tx, sql.fragment`o.tenant_id`, group)}
        returning o.id`)
      const gone = new Set(rows.map((row) => row.id))
      const acknowledged = group.filter(({ id }) => gone.has(id))
      if (acknowledged.length > 0) await effect(tx, acknowledged)
      return gone
    })

  const answer = (group: Waiting[]): Promise<void> =>
    acknowledgeAll(group).then(
      (gone) => {
        for (const { id, done } of group) done(gone.has(id))
      },
      async (error) => {
        if (group.length > 1 && (!isDatabaseUnavailable(error) || isPartAway(error)))
          for (const one of group) await answer([one])
        else for (const { failed } of group) failed(error)
      },
    )

  const drain = async () => {
    busy = true
    while (waiting.length > 0) await answer(waiting.splice(0, maxBatch))
    busy = false
  }

  return (delivery) =>
    new Promise((done, failed) => {
      waiting.push({ ...delivery, done, failed })
      if (!busy) outsideSpans(drain)
    })
}
