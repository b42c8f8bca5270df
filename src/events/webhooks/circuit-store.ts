import { z } from 'zod'
import { asWorker, type Databases, sql } from '../../platform/db/transaction.ts'
import type { Sample } from '../../platform/metrics/read-sources.ts'
import { openAfter } from './next-attempt.ts'

const open = z.object({ count: z.number() })

/** How many webhooks are tried now and then only, because they failed too often. */
export async function measureCircuits(db: Pick<Databases, 'worker'>): Promise<Sample[]> {
  const { count } = await asWorker(db, (tx) =>
    tx.one(sql.type(open)`
      select count(*) as count from webhooks
      where failures > 0 and failures >= ${openAfter} and is_active and disabled_reason is null`),
  )
  return [{ gauge: 'webhookCircuits', labels: {}, value: count }]
}
