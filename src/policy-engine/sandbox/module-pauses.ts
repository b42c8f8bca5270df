import { createLruCache } from '../lru-cache.ts'

/** What a pool does not run for a while, because it was killed. */
export interface ModulePauses {
  isPaused(tenantId: string, key: string): boolean
  /** Notes a kill of this module. */
  charge(tenantId: string, key: string): void
}

/** Whose kills a pause counts: of one module, or of all modules of the tenant together. */
export type PauseBy = 'module' | 'tenant'

const pauseMs = 100
// After more kills than this within a minute, of one module or of a tenant, the module killed last pauses for a minute.
const maxKills = { module: 10, tenant: 20 }
const longPauseMs = 60_000
const kept = 10_000

/**
 * Makes the pauses of a pool. By `module`: a module that was killed pauses for a tenth of a second, and for a minute
 * after more than 10 kills of it, or 20 of its tenant, in a minute. The other modules of the tenant go on. By `tenant`:
 * all of them pause, for a minute after more than 10 kills.
 */
export function createModulePauses(by: PauseBy, now = () => performance.now()): ModulePauses {
  const kills = createLruCache<number[]>(kept)
  const pausedUntil = createLruCache<number>(kept)
  const keyOf = (tenantId: string, key: string) => (by === 'tenant' ? tenantId : `${tenantId} ${key}`)
  const count = (name: string): number => {
    const recent = [...(kills.get(name) ?? []).filter((at) => now() - at < longPauseMs), now()]
    kills.set(name, recent, 1)
    return recent.length
  }
  return {
    isPaused: (tenantId, key) => (pausedUntil.get(keyOf(tenantId, key)) ?? 0) > now(),
    charge(tenantId, key) {
      const own = keyOf(tenantId, key)
      const ofTenant = by === 'module' ? count(tenantId) : 0
      const isOften = count(own) > maxKills.module || ofTenant > maxKills.tenant
      // A new thread costs 0.1 s of CPU time.
      pausedUntil.set(own, now() + (isOften ? longPauseMs : pauseMs), 1)
    },
  }
}
