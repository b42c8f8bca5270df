import { DelayedError } from '../src/platform/jobs/delayed-error.ts'
import type { MessageKey } from '../src/platform/jobs/queued-message.ts'

interface TenantState {
  running: number
  /** Messages that were delayed, longest ago first, with the time of their last delay. */
  delayed: Map<string, number>
}

const step = 250
const maxDelay = 60_000

/**
 * Handles at most `max` messages of a tenant at a time in this process, so that a tenant whose messages take long leaves
 * room for others. Throws {@link DelayedError} for the rest; the more of them wait, the longer the delay. A message that
 * does not come back was handled by another process, and counts for two minutes. `clock` is in ms.
 */
export function limitPerTenant(max: number, clock = () => performance.now()) {
  const tenants = new Map<string, TenantState>()
  return async <T>({ id, tenantId }: MessageKey, work: () => Promise<T>): Promise<T> => {
    const tenant = tenants.get(tenantId) ?? { running: 0, delayed: new Map() }
    tenants.set(tenantId, tenant)
    tenant.delayed.delete(id)
    if (tenant.running >= max) {
      const now = clock()
      forgetBefore(tenant.delayed, now - 2 * maxDelay)
      tenant.delayed.set(id, now)
      throw new DelayedError(Math.min(step * tenant.delayed.size, maxDelay))
    }
    tenant.running++
    try {
      return await work()
    } finally {
      if (--tenant.running === 0) tenants.delete(tenantId)
    }
  }
}

function forgetBefore(delayed: Map<string, number>, before: number): void {
  for (const [id, at] of delayed)
    if (at < before) delayed.delete(id)
    else return
}
