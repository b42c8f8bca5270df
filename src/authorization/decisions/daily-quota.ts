import { dayOf } from '../../platform/db/daily-counts.ts'
import type { DecisionRecord } from '../../platform/http/policies-in-force.ts'

const shareOfReads = 0.8
const sampledOneIn = 100

/** Whether the sample includes this UUIDv7, by its random last part. */
export const isSampled = (id: string): boolean => Number.parseInt(id.slice(-6), 16) % sampledOneIn === 0

/** Limits the decisions that are kept per tenant and day (UTC). */
interface DailyQuota {
  /** Whether to keep this decision, according to the last count that this process read. */
  admits(record: DecisionRecord): boolean
  /** Replaces the counts of these tenants by those of the database, if the day of `at` (ms since 1970) is not over. */
  learn(kept: ReadonlyMap<string, number>, at: number): void
}

/**
 * Creates a quota of `limit` decisions per tenant and day. From 80 % on, allowed reads are not kept. From 100 % on, one
 * in a hundred of the others is kept, denials included. A process reads the count of all processes when it writes its
 * own decisions, so together they can keep some hundreds more.
 */
export function dailyQuota(limit: number): DailyQuota {
  let today = ''
  let kept = new Map<string, number>()
  const startDay = (at: number) => {
    const day = dayOf(at)
    if (day <= today) return
    today = day
    kept = new Map()
  }
  return {
    admits({ id, query, always }) {
      startDay(query.now)
      const used = kept.get(query.subject.tenantId) ?? 0
      if (used >= limit) return always && isSampled(id)
      return always || used < limit * shareOfReads
    },
    learn(counts, at) {
      startDay(at)
      // A count that arrives after midnight is of the day before.
      if (dayOf(at) === today) for (const [tenantId, used] of counts) kept.set(tenantId, used)
    },
  }
}
