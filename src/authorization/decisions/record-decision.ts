import type { Logger } from 'pino'
import { addToDay } from '../../database/daily-counts.ts'
import { writeAsSystem } from '../../database/executor/batch.ts'
import { isPartAway } from '../../database/executor/database-errors.ts'
import { asSystem, type Databases, isDatabaseUnavailable } from '../../database/executor/transaction.ts'
import { decisionPace } from '../../limits/decision-time.ts'
import { sumPerMinute } from '../../limits/sum-per-minute.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import type { Metrics } from '../../observe/metrics/metrics.ts'
import { outsideSpans } from '../../observe/tracing/span.ts'
import type { AccessEngine } from '../../policy-engine/evaluate/engine.ts'
import type { AnyQuery } from '../../policy-engine/evaluate/query.ts'
import { toJsonMatched } from '../../request/answer/refusal.ts'
import type { DecisionLog, DecisionRecord } from '../../request/policies-in-force.ts'
import type { Config } from '../../settings/config.ts'
import { dailyQuota, isSampled, type Reached } from './daily-quota.ts'
import { decideShadows, type ShadowResult, wouldChange } from './decide-shadows.ts'
import { factsOf } from './facts.ts'
import type { ShadowCounter } from './shadow-counts.ts'
import { decisionInserts, type NewDecision } from './store.ts'

/** A decision to write, with what policies in shadow mode would have done. */
type Kept = DecisionRecord & { shadow: readonly ShadowResult[] }
type Waiting = { record: Kept; done: () => void }

interface LogDeps {
  db: Pick<Databases, 'system'>
  log: Logger
  metrics: Pick<Metrics, 'decisionDropped'>
  config: Pick<Config, 'LIMIT_DECISIONS_PER_DAY' | 'LIMIT_DECISION_FACTS_BYTES'>
  access: Pick<AccessEngine, 'decide' | 'revision'>
  shadowCounts: Pick<ShadowCounter, 'add'>
}

// More would take the event loop for longer than 10 ms.
const maxAtOnce = 200
const maxWaitingReads = 1_000
const countEveryMs = 1_000

/**
 * Creates the writer of the decision log. Decisions that arrive during a transaction share the next one, so that a
 * flood of denials needs few commits. One in a hundred allowed reads is kept, and none of what only asks. `LIMIT_DECISIONS_PER_DAY` limits the
 * decisions of a tenant per day. Dropped decisions are counted and logged. Policies in shadow mode are evaluated here;
 * a decision that one of them would change is kept like a denial.
 */
export function decisionLog({ db, log, metrics, config, access, shadowCounts }: LogDeps): DecisionLog {
  const waiting: Waiting[] = []
  let busy = false
  /** The decisions of each tenant that changes stored, and that the day's count does not include yet. */
  let uncounted = new Map<string, number>()
  let newestUncounted = 0
  let timer: NodeJS.Timeout | undefined
  const quota = dailyQuota(config.LIMIT_DECISIONS_PER_DAY)
  const drop = countDropped(metrics, log)
  const maxFacts = config.LIMIT_DECISION_FACTS_BYTES

  /** Records in the audit log of a tenant that its decisions are sampled from now on, once a day each. */
  const note = async (reached: readonly Reached[], at: number): Promise<void> => {
    for (const { tenantId, what } of reached)
      await asSystem(db, 'decisions of many tenants are counted together', (tx) =>
        appendAudit(tx, {
          tenantId,
          actor: null,
          requestInfo: { requestId: 'decisions', ip: '', userAgent: '' },
          action: 'decision:throttle',
          target: { type: 'tenant', id: tenantId },
          changes: { [what]: { before: 'kept', after: 'sampled until midnight' } },
          at,
        }),
      ).catch((err) => log.error({ err, tenant_id: tenantId }, 'a full log of decisions was not recorded'))
  }
  const write = async (group: Waiting[]): Promise<void> => {
    try {
      const pace = decisionPace(Number.POSITIVE_INFINITY)
      const rows: NewDecision[] = []
      for (const { record } of group) {
        await pace.next()
        rows.push(rowOf(record, access.revision, maxFacts))
      }
      const at = Math.max(...rows.map((row) => row.at))
      const added = countBy(rows)
      const [kept] = await writeAsSystem(db, 'decisions of many tenants share a transaction', (together) =>
        Promise.all([
          addToDay(together, 'decisions', added, at),
          ...decisionInserts(rows).map((insert) => together.query(insert)),
        ]),
      )
      await note(quota.learn(kept, added, at), at)
    } catch (error) {
      // A decision that cannot be written must not prevent writing the others.
      if (group.length > 1 && (!isDatabaseUnavailable(error) || isPartAway(error))) {
        for (const one of group) await write([one])
        return
      }
      for (const { record } of group) drop(record, 'failed')
      log.error(
        { err: error, decisions: group.map(({ record }) => record.id) },
        'decisions could not be stored',
      )
    }
    for (const { done } of group) done()
  }
  const drain = async () => {
    busy = true
    while (waiting.length > 0) await write(waiting.splice(0, maxAtOnce))
    busy = false
  }
  /** What cannot be counted is left out: the tenant's limit is that much higher on this day. */
  const count = async (added: ReadonlyMap<string, number>, at: number): Promise<void> => {
    try {
      const kept = await writeAsSystem(db, 'changes of many tenants are counted together', (together) =>
        addToDay(together, 'decisions', added, at),
      )
      await note(quota.learn(kept, added, at), at)
    } catch (error) {
      // A tenant that cannot be counted must not prevent counting the others.
      if (added.size > 1 && (!isDatabaseUnavailable(error) || isPartAway(error)))
        for (const one of added) await count(new Map([one]), at)
      else log.warn({ err: error, tenants: added.size }, 'decisions of changes were not counted')
    }
  }
  const countLater = ({ tenantId, at }: NewDecision) => {
    uncounted.set(tenantId, (uncounted.get(tenantId) ?? 0) + 1)
    newestUncounted = Math.max(newestUncounted, at)
    timer ??= outsideSpans(() => setTimeout(flush, countEveryMs).unref())
  }
  const flush = async () => {
    clearTimeout(timer)
    timer = undefined
    const added = uncounted
    uncounted = new Map()
    if (added.size > 0) await outsideSpans(() => count(added, newestUncounted))
  }
  const push = (record: Kept) =>
    new Promise<void>((done) => {
      waiting.push({ record, done })
    })
  const withShadows = (record: DecisionRecord): Kept => {
    const { query, decision } = record
    if (query.slice.shadows.length === 0) return { ...record, shadow: [] }
    const results = decideShadows(access, query, decision)
    shadowCounts.add(query.subject.tenantId, results, query.now)
    const shadow = results.filter(({ outcome }) => outcome !== 'none')
    return { ...record, shadow, keep: shadow.some(wouldChange) ? 'always' : record.keep }
  }
  /** Keeps a record or drops it; resolves when the caller need not wait for it any more. */
  const keep = (record: Kept): Promise<void> | undefined => {
    const isOwed = record.keep === 'always'
    if (record.keep === 'never' || (!isOwed && !isSampled(record.id))) return
    if (!quota.admits(record)) return drop(record, 'daily_limit')
    if (!isOwed && waiting.length > maxWaitingReads) return drop(record, 'backlog')
    const kept = push(record)
    return isOwed ? kept : undefined
  }

  return {
    async record(...records) {
      const pace = decisionPace(Number.POSITIVE_INFINITY)
      const kept: (Promise<void> | undefined)[] = []
      for (const record of records) {
        if (record.query.slice.shadows.length > 0) await pace.next()
        kept.push(keep(withShadows(record)))
      }
      if (!busy && waiting.length > 0) outsideSpans(drain)
      await Promise.all(kept)
    },
    recordIn(tx, ...records) {
      if (records.some((record) => record.query.slice.shadows.length > 0 || !quota.admits(record)))
        return null
      const rows = records.map((record) => rowOf({ ...record, shadow: [] }, access.revision, maxFacts))
      // The row of the day's count would be locked until the commit, and no two changes of a tenant could commit together.
      for (const insert of decisionInserts(rows)) tx.later(insert)
      return new Promise((stored) => {
        tx.afterCommit(() => {
          rows.forEach(countLater)
          stored()
        })
      })
    },
    flush,
  }
}

/** The tenant's daily limit is reached, too many decisions are waiting to be written, or writing failed. */
type DropReason = 'daily_limit' | 'backlog' | 'failed'

/** Counts dropped decisions, and logs them in one line per tenant and minute. `denials` includes gates. */
function countDropped(metrics: Pick<Metrics, 'decisionDropped'>, log: Logger) {
  const sum = sumPerMinute<{ count: number; denials: number }>((tenant_id, sums) =>
    log.warn({ tenant_id, ...sums }, 'decisions of a tenant are not kept'),
  )
  return ({ query, decision }: DecisionRecord, reason: DropReason): undefined => {
    metrics.decisionDropped(decision.effect, reason)
    sum(query.subject.tenantId, { count: 1, denials: decision.effect === 'allow' ? 0 : 1 }, query.now)
  }
}

/** The number of rows of each tenant. */
function countBy(rows: readonly NewDecision[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { tenantId } of rows) counts.set(tenantId, (counts.get(tenantId) ?? 0) + 1)
  return counts
}

/** The limit for reasons and policies in a row. The answer to the caller has all of them. */
const maxNamed = 50

function rowOf(
  { id, query, decision, kind, unknown, faults, shadow }: Kept,
  engineRevision: string,
  maxFacts: number,
): NewDecision {
  return {
    tenantId: query.subject.tenantId,
    id,
    at: query.now,
    kind,
    effect: decision.effect,
    action: query.action,
    resourceType: query.resource.type,
    resourceId: query.resource.id,
    subjectId: query.subject.id,
    subjectEmail: query.subject.email,
    reasons: decision.reasons.slice(0, maxNamed),
    matched: decision.matched.slice(0, maxNamed).map(toJsonMatched),
    obligations: decision.obligations,
    policyRevision: query.slice.revision,
    engineRevision,
    facts: factsOf(query satisfies AnyQuery, maxFacts, unknown, faults),
    durationUs: decision.durationUs,
    requestId: query.requestId,
    shadow,
  }
}
