import { dayOf } from '../../platform/db/daily-counts.ts'
import type { DecisionRecord } from '../../platform/http/policies-in-force.ts'

const shareOfReads = 0.8
const sampledOneIn = 100

/** The end of a UUIDv7 is random. */
export const isSampled = (id: string): boolean => Number.parseInt(id.slice(-6), 16) % sampledOneIn === 0

/** Which decisions of a tenant are kept on a day (UTC). */
export interface DailyQuota {
  /** Whether this one is kept, as far as this process knows the tenant's count. */
  admits(record: DecisionRecord): boolean
  /** Takes over how many each tenant has kept on the day of `at` (ms since 1970), as the database counted. */
  learn(kept: ReadonlyMap<string, number>, at: number): void
}

/**
 * Makes the quota of `limit` decisions a tenant and day. At 80 % of it no allowed reads are kept any more; at all of it,
 * one in a hundred of the rest, denials among them. Processes learn of each other's decisions when they write their
 * own, so together they may keep some hundreds more.
 */
export function dailyQuota(limit: number): DailyQuota {
  let today = ''
  let kept = new Map<string, number>()
  const turn = (at: number) => {
    const day = dayOf(at)
    if (day <= today) return
    today = day
    kept = new Map()
  }
  return {
    admits({ id, query, always }) {
      turn(query.now)
      const used = kept.get(query.subject.tenantId) ?? 0
      if (used >= limit) return always && isSampled(id)
      return always || used < limit * shareOfReads
    },
    learn(counts, at) {
      turn(at)
      for (const [tenantId, used] of counts) kept.set(tenantId, used)
    },
  }
}
