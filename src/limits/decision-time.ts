import { setImmediate as turnOfLoop } from 'node:timers/promises'
import { type ApiError, unavailable } from '../errors.ts'
import type { DecisionPoint } from '../policy-engine/evaluate/engine.ts'
import { type AnyQuery, askerOf, isOwnerRecovery } from '../policy-engine/evaluate/query.ts'
import { createLoopTurns } from './loop-turns.ts'
import { type Clocks, threadClocks } from './processor-time.ts'
import { timeUsed } from './time-used.ts'
import { decisionShare } from './work-budget.ts'

/** 503: the policies of a tenant take more time than its limit. */
export const tooCostly = (retryAfter: number): ApiError =>
  unavailable(
    'too_costly',
    'This decision takes too long with the policies of this tenant. Ask for less at a time, or write simpler policies.',
    retryAfter,
  )

/**
 * Wraps an engine, or its part for trials, to limit decisions to `limit` ms of processor time a second for each tenant, and for each person
 * over all their tenants; beyond that it throws 503 `too_costly`. Owners can always read and change policies, because costly
 * policies can be the cause.
 */
export function limitDecisionTime<Engine extends DecisionPoint>(
  engine: Engine,
  limit: number,
  { now, processor }: Clocks = threadClocks,
): Engine {
  const used = timeUsed(decisionShare(limit), now)
  const within = <T>(query: AnyQuery, ask: () => T): T => {
    const begun = processor()
    const by = { userId: askerOf(query).id, tenantId: query.subject.tenantId }
    if (used.msUntilLeft(by) > 0 && !isOwnerRecovery(query.action, query.subject.membership))
      throw tooCostly(1)
    try {
      return ask()
    } finally {
      used.add(by, processor() - begun)
    }
  }
  return {
    ...engine,
    decide: (query) => within(query, () => engine.decide(query)),
    explain: (query, policies) => within(query, () => engine.explain(query, policies)),
    plan: (query) => within(query, () => engine.plan(query)),
  }
}

/** Limits the decisions of one request that makes many. */
export interface DecisionPace {
  /**
   * Await it before each decision. It yields to the event loop when due, and before the first one if another request has
   * this turn of it. Throws 503 `too_costly` over the limit.
   */
  next(): Promise<void>
}

const sliceMs = 5

/**
 * Of all requests with many or slow decisions, one or a few continue in each turn of the event loop: together they must not
 * keep it from the others.
 */
export const decisionTurn = createLoopTurns(Number.POSITIVE_INFINITY)

/** A pace that yields after each 5 ms of real time and allows `limit` ms of processor time in all. */
export function decisionPace(limit: number, { now, processor }: Clocks = threadClocks): DecisionPace {
  let begun: number | undefined
  let begunWork = 0
  let spent = 0
  const begin = () => {
    begun = now()
    begunWork = processor()
  }
  return {
    async next() {
      if (begun === undefined) {
        await decisionTurn()
        begin()
      }
      if (now() - begun! < sliceMs) return
      spent += processor() - begunWork
      if (spent >= limit) throw tooCostly(1)
      await turnOfLoop()
      await decisionTurn()
      begin()
    },
  }
}
