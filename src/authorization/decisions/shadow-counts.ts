import type { Logger } from 'pino'
import { dayOf } from '../../database/daily-counts.ts'
import { asSystem, type Databases } from '../../database/executor/transaction.ts'
import type { Metrics } from '../../observe/metrics/metrics.ts'
import { outsideSpans } from '../../observe/tracing/span.ts'
import type { ShadowResult } from './decide-shadows.ts'
import { addShadowCounts, type CountsOfDay, noCounts } from './store.ts'

/** Counts what policies in shadow mode would have done. */
export interface ShadowCounter {
  /** Counts the results of one decision, made at `at` (ms since 1970). */
  add(tenantId: string, results: readonly ShadowResult[], at: number): void
  /** Writes the counts so far. Never rejects: counts that cannot be written are kept for the next time. */
  flush(): Promise<void>
}

const everyMs = 5_000

/**
 * Creates a counter that collects in memory, so that a decision writes no row of its own, and writes every 5 seconds.
 * A process that crashes loses the counts since then.
 */
export function shadowCounter(
  { db, log, metrics }: { db: Pick<Databases, 'system'>; log: Logger; metrics: Pick<Metrics, 'shadowed'> },
  clock: () => number,
): ShadowCounter {
  let waiting = new Map<string, CountsOfDay>()
  let timer: NodeJS.Timeout | undefined

  const add = (of: Omit<CountsOfDay, 'counts'>): CountsOfDay => {
    const key = `${of.tenantId} ${of.policyId} ${of.day} ${of.version}`
    const known = waiting.get(key) ?? { ...of, counts: noCounts() }
    waiting.set(key, known)
    return known
  }
  const flush = async () => {
    clearTimeout(timer)
    timer = undefined
    if (waiting.size === 0) return
    const written = [...waiting.values()]
    waiting = new Map()
    try {
      await asSystem(db, 'shadow counts of many tenants share a transaction', (tx) =>
        addShadowCounts(tx, written, clock()),
      )
    } catch (error) {
      for (const { counts, ...of } of written) merge(add(of).counts, counts)
      log.warn({ err: error, policies: written.length }, 'shadow counts could not be stored yet')
    }
  }
  return {
    add(tenantId, results, at) {
      for (const { policy_id: policyId, version, outcome } of results) {
        metrics.shadowed(outcome)
        const { counts } = add({ tenantId, policyId, version, day: dayOf(at) })
        counts.evaluated++
        if (outcome === 'error') counts.errors++
        else if (outcome !== 'none') counts.applied++
        if (outcome === 'would_deny' || outcome === 'would_gate' || outcome === 'would_allow')
          counts[outcome]++
      }
      timer ??= outsideSpans(() => setTimeout(flush, everyMs).unref())
    },
    flush,
  }
}

function merge(into: CountsOfDay['counts'], counts: CountsOfDay['counts']): void {
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) into[name] += counts[name]
}
