import { DelayedError } from '../src/platform/jobs/delayed-error.ts'
import type { Delivery } from '../src/platform/outbox/acknowledge.ts'

interface Lane {
  running: number
  /** Messages that were put off. */
  line: Set<string>
}

const step = 250
const longest = 60_000

/**
 * Has at most `most` messages of a tenant handled at a time in this process, so that one tenant whose messages take
 * long leaves room for others. Throws {@link DelayedError} over the rest: the longer their line, the less often they ask.
 */
export function limitPerTenant(most: number) {
  const lanes = new Map<string, Lane>()
  return async <T>({ id, tenantId }: Delivery, work: () => Promise<T>): Promise<T> => {
    const lane = lanes.get(tenantId) ?? { running: 0, line: new Set() }
    lanes.set(tenantId, lane)
    if (lane.running >= most) throw new DelayedError(Math.min(step * lane.line.add(id).size, longest))
    lane.line.delete(id)
    lane.running++
    try {
      return await work()
    } finally {
      if (--lane.running === 0) lanes.delete(tenantId)
    }
  }
}
