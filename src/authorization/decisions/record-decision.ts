import type { Logger } from 'pino'
import type { Config } from '../../config.ts'
import { addToDay } from '../../platform/db/daily-counts.ts'
import { asSystem, type Databases, isDatabaseUnavailable } from '../../platform/db/transaction.ts'
import type { DecisionRecord, RecordDecision } from '../../platform/http/policies-in-force.ts'
import { toJsonMatched } from '../../platform/http/refusal.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import { outsideSpans } from '../../platform/tracing/span.ts'
import type { AnyQuery } from '../../policy-engine/evaluate/query.ts'
import { dailyQuota, isSampled } from './daily-quota.ts'
import { countDropped } from './dropped-decisions.ts'
import { factsOf } from './facts.ts'
import { insertDecisions, type NewDecision } from './store.ts'

type Waiting = { record: DecisionRecord; done: () => void }

interface LogDeps {
  db: Pick<Databases, 'system'>
  log: Logger
  metrics: Pick<Metrics, 'decisionDropped'>
  config: Pick<Config, 'LIMIT_DECISIONS_PER_DAY' | 'LIMIT_DECISION_FACTS_BYTES'>
}

const maxAtOnce = 200
const maxWaitingReads = 1_000

/**
 * Makes the writer of the decision log. What comes while a transaction is under way shares the next one, so that a
 * flood of denials costs few commits. Of allowed reads one in a hundred is kept; `LIMIT_DECISIONS_PER_DAY` bounds what
 * a tenant may add in a day. Whatever else is not kept is counted and logged.
 */
export function decisionLog({ db, log, metrics, config }: LogDeps, engineRevision: string): RecordDecision {
  const waiting: Waiting[] = []
  let busy = false
  const quota = dailyQuota(config.LIMIT_DECISIONS_PER_DAY)
  const drop = countDropped(metrics, log)
  const maxFacts = config.LIMIT_DECISION_FACTS_BYTES

  const write = async (group: Waiting[]): Promise<void> => {
    try {
      const rows = group.map(({ record }) => rowOf(record, engineRevision, maxFacts))
      const at = Math.max(...rows.map((row) => row.at))
      const kept = await asSystem(db, 'decisions of many tenants share a transaction', async (tx) => {
        await insertDecisions(tx, rows)
        return addToDay(tx, 'decisions', countBy(rows), at)
      })
      quota.learn(kept, at)
    } catch (error) {
      // One that cannot be written must not take the others along.
      if (group.length > 1 && !isDatabaseUnavailable(error)) {
        for (const one of group) await write([one])
        return
      }
      for (const { record } of group) drop(record, 'failed')
      log.error(
        { err: error, decisions: group.map(({ record }) => record.id) },
        'decisions could not be kept',
      )
    }
    for (const { done } of group) done()
  }
  const drain = async () => {
    busy = true
    while (waiting.length > 0) await write(waiting.splice(0, maxAtOnce))
    busy = false
  }
  const push = (record: DecisionRecord) =>
    new Promise<void>((done) => {
      waiting.push({ record, done })
      if (!busy) outsideSpans(drain)
    })

  return async (record) => {
    if (!record.always && !isSampled(record.id)) return
    if (!quota.admits(record)) return drop(record, 'daily_limit')
    if (!record.always && waiting.length > maxWaitingReads) return drop(record, 'backlog')
    const kept = push(record)
    if (record.always) await kept
  }
}

/** How many rows each tenant has. */
function countBy(rows: readonly NewDecision[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { tenantId } of rows) counts.set(tenantId, (counts.get(tenantId) ?? 0) + 1)
  return counts
}

/** So many policies are named in a row; an answer names all of them. */
const maxNamed = 50

/** A decision as it is kept. */
function rowOf(
  { id, query, decision, unknown }: DecisionRecord,
  engineRevision: string,
  maxFacts: number,
): NewDecision {
  return {
    tenantId: query.subject.tenantId,
    id,
    at: query.now,
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
    facts: factsOf(query satisfies AnyQuery, maxFacts, unknown),
    durationUs: decision.durationUs,
    requestId: query.requestId,
  }
}
