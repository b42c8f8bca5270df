import { DelayedError } from '../src/platform/jobs/delayed-error.ts'
import type { MessageKey } from '../src/platform/outbox/acknowledge.ts'

interface TenantState {
  running: number
  /** Ids of messages that were delayed. */
  delayed: Set<string>
}

const step = 250
const maxDelay = 60_000

/**
 * Handles at most `max` messages of a tenant at a time in this process, so that a tenant whose messages take long leaves
 * room for others. Throws {@link DelayedError} for the rest; the more of them wait, the longer the delay.
 */
export function limitPerTenant(max: number) {
  const tenants = new Map<string, TenantState>()
  return async <T>({ id, tenantId }: MessageKey, work: () => Promise<T>): Promise<T> => {
    const tenant = tenants.get(tenantId) ?? { running: 0, delayed: new Set() }
    tenants.set(tenantId, tenant)
    if (tenant.running >= max) throw new DelayedError(Math.min(step * tenant.delayed.add(id).size, maxDelay))
    tenant.delayed.delete(id)
    tenant.running++
    try {
      return await work()
    } finally {
      if (--tenant.running === 0) tenants.delete(tenantId)
    }
  }
}
