import { z } from 'zod'
import { asWorker, type Databases, sql } from '../../database/executor/transaction.ts'
import type { Sample } from '../../observe/metrics/read-sources.ts'
import { queues } from '../queues/queues.ts'
import { deadLetterReasons } from './acknowledge.ts'

const waiting = z.object({ count: z.number(), oldest: z.number().nullable() })
const dead = z.object({ queue: z.string(), reason: z.enum(deadLetterReasons), count: z.number() })
const set = z.object({ timeout: z.string() })

/** Counts stop here: a larger number says no more, and counting must stay cheap. */
const maxCounted = 100_000

/** Measures the outbox at `now` (ms) and the dead letters. Fails when Postgres takes more than a second. */
export async function measureBacklog(db: Pick<Databases, 'worker'>, now: number): Promise<Sample[]> {
  const { outbox, letters } = await asWorker(db, async (tx) => {
    await tx.one(sql.type(set)`select set_config('statement_timeout', '1000', true) as timeout`)
    const outbox = await tx.one(sql.type(waiting)`
      select (select count(*) from (select 1 from outbox where enqueued_at is null limit ${maxCounted}) as w) as count,
             (select created_at from outbox where enqueued_at is null order by id limit 1) as oldest`)
    const letters = await tx.any(sql.type(dead)`
      select queue, reason, count(*) as count from (select queue, reason from dead_letters limit ${maxCounted}) as d
      group by queue, reason`)
    return { outbox, letters }
  })
  const age = outbox.oldest === null ? 0 : Math.max(0, now - outbox.oldest) / 1_000
  return [
    { gauge: 'outboxWaiting', labels: {}, value: outbox.count },
    { gauge: 'outboxAge', labels: {}, value: age },
    ...deadLetterReasons.flatMap((reason) =>
      [...byQueue(letters.filter((row) => row.reason === reason))].map(
        ([queue, value]) => ({ gauge: 'deadLetters', labels: { queue, reason }, value }) as const,
      ),
    ),
  ]
}

/**
 * The count of every queue, also without dead letters. Queues that this version does not know are summed as `other`.
 */
function byQueue(letters: readonly z.output<typeof dead>[]): Map<string, number> {
  const counts = new Map<string, number>(Object.keys(queues).map((queue) => [queue, 0]))
  for (const { queue, count } of letters) {
    const name = counts.has(queue) ? queue : 'other'
    counts.set(name, (counts.get(name) ?? 0) + count)
  }
  return counts
}
