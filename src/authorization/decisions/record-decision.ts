import type { Logger } from 'pino'
import type { AnyQuery } from '../../platform/access/query.ts'
import { asSystem, type Databases, isDatabaseUnavailable } from '../../platform/db/transaction.ts'
import type { DecisionRecord, RecordDecision } from '../../platform/http/policies-in-force.ts'
import { tellMatched } from '../../platform/http/refusal.ts'
import { outsideSpans } from '../../platform/tracing/span.ts'
import { factsOf } from './facts.ts'
import { insertDecisions, type NewDecision } from './store.ts'

type Waiting = { row: NewDecision; done: () => void }

const maxAtOnce = 200
const maxSampled = 1_000
const sampledOneIn = 100

/**
 * Makes the writer of the decision log. What comes while a transaction is under way shares the next one, so that a
 * flood of denials costs few commits. Sampled allows are dropped where they pile up, denials and changes never are.
 */
export function decisionLog(
  { db, log }: { db: Pick<Databases, 'system'>; log: Logger },
  engineRevision: string,
): RecordDecision {
  const waiting: Waiting[] = []
  let busy = false

  const write = async (group: Waiting[]): Promise<void> => {
    try {
      const rows = group.map(({ row }) => row)
      await asSystem(db, 'decisions of many tenants share a transaction', (tx) => insertDecisions(tx, rows))
    } catch (error) {
      // One that cannot be written must not take the others along.
      if (group.length > 1 && !isDatabaseUnavailable(error)) {
        for (const one of group) await write([one])
        return
      }
      log.error({ err: error, decisions: group.map(({ row }) => row.id) }, 'decisions could not be kept')
    }
    for (const { done } of group) done()
  }
  const drain = async () => {
    busy = true
    while (waiting.length > 0) await write(waiting.splice(0, maxAtOnce))
    busy = false
  }
  const push = (row: NewDecision) =>
    new Promise<void>((done) => {
      waiting.push({ row, done })
      if (!busy) outsideSpans(drain)
    })

  return async (record) => {
    if (!record.always && (waiting.length > maxSampled || !isSampled(record.id))) return
    const kept = push(rowOf(record, engineRevision))
    if (record.always) await kept
  }
}

/** The end of a UUIDv7 is random. */
const isSampled = (id: string) => Number.parseInt(id.slice(-6), 16) % sampledOneIn === 0

/** A decision as it is kept. */
function rowOf({ id, query, decision }: DecisionRecord, engineRevision: string): NewDecision {
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
    reasons: decision.reasons,
    matched: decision.matched.map(tellMatched),
    obligations: decision.obligations,
    policyRevision: query.slice.revision,
    engineRevision,
    facts: factsOf(query satisfies AnyQuery),
    durationUs: decision.durationUs,
    requestId: query.requestId,
  }
}
