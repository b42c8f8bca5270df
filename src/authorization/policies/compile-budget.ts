import { unavailable } from '../../platform/errors.ts'
import { createLruCache } from '../../policy-engine/lru-cache.ts'

const maxMs = 20_000
const windowMs = 60_000
const kept = 10_000

/** Limits the time that the modules of a tenant are compiled. */
export interface CompileBudget {
  /** Does the work, and counts its time. Throws 503 `overloaded` when the tenant has used its time. */
  spend<T>(tenantId: string, work: () => Promise<T>): Promise<T>
}

/** A budget of 20 s a minute for each tenant. `now` gives ms. */
export function createCompileBudget(now: () => number = () => performance.now()): CompileBudget {
  const used = createLruCache<{ begun: number; ms: number }>(kept)
  return {
    async spend(tenantId, work) {
      const begun = now()
      const known = used.get(tenantId)
      const current = known && begun - known.begun < windowMs ? known : { begun, ms: 0 }
      if (current.ms >= maxMs) throw spent(current.begun + windowMs - begun)
      try {
        return await work()
      } finally {
        used.set(tenantId, { ...current, ms: current.ms + now() - begun }, 1)
      }
    },
  }
}

const spent = (waitMs: number) =>
  unavailable(
    'overloaded',
    'Compiling the modules of this tenant took 20 s within one minute. Try again later, or write simpler modules.',
    Math.max(1, Math.ceil(waitMs / 1000)),
  )
