import { randomUUIDv7 } from 'node:crypto'
import { inTenant } from '../../database/executor/transaction.ts'
import { countLog } from '../../database/log-quota.ts'
import { ApiError } from '../../errors.ts'
import { type DecisionPace, decisionPace } from '../../limits/decision-time.ts'
import { workBudget } from '../../limits/work-budget.ts'
import { stepUpDue, stepUpRequired } from '../answer/obligations.ts'
import { refusal, whyRefused } from '../answer/refusal.ts'
import type { ResourceOf } from '../caller.ts'
import { askerIn, evaluate, resourceIn } from '../decide.ts'
import type { ItemPermit } from '../item-decisions.ts'
import type { DecisionRecord } from '../policies-in-force.ts'
import type { PathDeps, RequestContext } from '../request-context.ts'
import type { AnyInput, Route } from '../route.ts'

// One statement, and about 5 ms.
const loggedAtOnce = 128

/**
 * Changes many objects in one transaction. Each is decided by itself; the decisions that permit are stored in the
 * transaction, those that refuse after it. Throws 503 `too_costly` and `overloaded`.
 */
export const runBulk = (
  deps: PathDeps,
  request: RequestContext,
  route: Route & { kind: 'bulk' },
  input: AnyInput,
): Promise<unknown> => {
  const by = { userId: askerIn(request.caller).id, tenantId: request.caller.tenantId }
  // A tenant has one at a time, so that none waits for the lock of another with a connection in its hands.
  return workBudget.inTurn('changes', by, () => changeMany(deps, request, route, input))
}

async function changeMany(
  deps: PathDeps,
  request: RequestContext,
  route: Route & { kind: 'bulk' },
  input: AnyInput,
): Promise<unknown> {
  const { caller, now } = request
  const items = await route.items(input, paceOf(decisionPace(Number.POSITIVE_INFINITY)))
  const done = await inTenant(deps.db, caller, async (tx) => {
    const use = request.route.method === 'DELETE' ? 'removes' : 'adds'
    countLog(tx, deps.config, { caller, at: now, use })
    const next = paceOf(decisionPace(Number.POSITIVE_INFINITY))
    const toDecide = paceOf(deps.newPace())
    const allowed: DecisionRecord[] = []
    const toLog: DecisionRecord[] = []
    const decide = async (resource: ResourceOf): Promise<ItemPermit> => {
      await toDecide()
      const { record, refused } = decideItem(deps, request, resource)
      if (refused) toLog.push(record)
      else allowed.push(record)
      return { decisionId: record.id, refusal: refused }
    }
    const answer = await route.changeAll(tx, input, items, { decide, pace: next })
    for (let at = 0; at < allowed.length; at += loggedAtOnce) {
      await next()
      const records = allowed.slice(at, at + loggedAtOnce)
      if (deps.decisionLog.recordIn(tx, ...records) === null) toLog.push(...records)
    }
    return { answer, toLog }
  })
  request.isLogged = true
  await deps.decisionLog.record(...done.toLog)
  return done.answer
}

const paceOf = (pace: DecisionPace) => () => pace.next()

function decideItem(deps: PathDeps, request: RequestContext, resource: ResourceOf) {
  const decided = evaluate(deps, request, 'resource', resourceIn(request, resource))
  const record: DecisionRecord = { id: randomUUIDv7(), ...decided, kind: 'request', keep: 'always' }
  return { record, refused: refusalOf(request, record) }
}

/** Why an item is not permitted; null if it is. */
function refusalOf(
  { route, caller, now }: RequestContext,
  { id, decision }: DecisionRecord,
): ApiError | null {
  if (decision.effect === 'deny') return refusal(decision, route.action, id)
  if (decision.effect === 'require_approval')
    return new ApiError(
      403,
      'approval_required',
      'A policy of the tenant requires an approval. Send this object in a call of its own, which asks for it.',
      { members: whyRefused(decision, route.action, id) },
    )
  const due = stepUpDue(decision.obligations, caller.auth.session, now)
  return due && stepUpRequired(due)
}
