import { createLruCache } from '../lru-cache.ts'

/** The tenant of a query, and of whom its ends are counted: see `endsOf`. */
export interface EndsOf {
  tenantId: string
  subject: string
}

/** Whose modules do not run for a while, because their queries ended threads. */
export interface ModulePauses {
  isPaused(of: EndsOf): boolean
  /** Notes that a query ended a thread. */
  charge(of: EndsOf): void
}

/** After so many ends in a minute there are consequences: a pause, or a module is switched off. */
export const maxEnds = 5
export const windowMs = 60_000
/** What concerns a whole tenant needs ends by so many subjects: one alone must not deny it to the others. */
export const severalSubjects = 3
const pauseMs = 60_000
const maxPauseMs = 60 * 60_000
const kept = 10_000

interface End {
  at: number
  subject: string
}

/** Counts the ends of each key in the last minute. True when they are five or more and `isEnough`; then it begins anew. */
export function countEnds(now: () => number) {
  const ends = createLruCache<End[]>(kept)
  return (key: string, subject: string, isEnough: (recent: readonly End[]) => boolean): boolean => {
    const recent = [
      ...(ends.get(key) ?? []).filter(({ at }) => now() - at < windowMs),
      { at: now(), subject },
    ]
    const enough = recent.length >= maxEnds && isEnough(recent)
    ends.set(key, enough ? [] : recent, 1)
    return enough
  }
}

/** Whether the ends are those of several subjects. */
export const areOfSeveral = (ends: readonly End[]): boolean =>
  new Set(ends.map(({ subject }) => subject)).size >= severalSubjects

/**
 * Makes the pauses of a pool. After five ends in a minute the queries of their subject pause for a minute, in all tenants.
 * If three subjects or more caused those of a tenant, all its modules pause: for a minute, then twice as long each time, up
 * to an hour.
 */
export function createModulePauses(now: () => number = () => performance.now()): ModulePauses {
  const isEnoughOfSubject = countEnds(now)
  const isEnoughOfTenant = countEnds(now)
  const subjects = createLruCache<number>(kept)
  const tenants = createLruCache<{ until: number; ms: number }>(kept)
  const pauseTenant = (tenantId: string) => {
    const last = tenants.get(tenantId)
    const isRecent = last && now() - last.until < maxPauseMs
    const ms = isRecent ? Math.min(2 * last.ms, maxPauseMs) : pauseMs
    tenants.set(tenantId, { until: now() + ms, ms }, 1)
  }
  return {
    isPaused: ({ tenantId, subject }) =>
      (subjects.get(subject) ?? 0) > now() || (tenants.get(tenantId)?.until ?? 0) > now(),
    charge({ tenantId, subject }) {
      if (isEnoughOfSubject(subject, subject, () => true)) subjects.set(subject, now() + pauseMs, 1)
      if (isEnoughOfTenant(tenantId, subject, areOfSeveral)) pauseTenant(tenantId)
    },
  }
}
