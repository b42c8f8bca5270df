import { setImmediate as turnOfLoop } from 'node:timers/promises'
import { actions, isServiceAction } from '../policy-engine/catalogue/actions.ts'
import type { AccessEngine } from '../policy-engine/evaluate/engine.ts'
import type { AnyQuery } from '../policy-engine/evaluate/query.ts'
import { type ApiError, unavailable } from './errors.ts'

/** 503: the policies of a tenant take more time than it has. */
export const tooCostly = (retryAfter: number): ApiError =>
  unavailable(
    'too_costly',
    'Deciding this takes too long with the policies of this tenant. Ask for less at a time, or write simpler policies.',
    retryAfter,
  )

// A decision takes 2 ms at most; more of it is the machine doing other things.
const maxCounted = 50

/**
 * The same engine, which refuses a tenant that has spent `limit` ms of decisions within a second: throws 503
 * `too_costly`. An owner who reads or changes policies is not refused, for they may be what takes so long.
 */
export function budgetEngine(
  engine: AccessEngine,
  limit: number,
  now: () => number = () => performance.now(),
): AccessEngine {
  let second = 0
  let spent = new Map<string, number>()
  const within = <T>(query: AnyQuery, ask: () => T): T => {
    const begun = now()
    if (Math.floor(begun / 1000) !== second) {
      second = Math.floor(begun / 1000)
      spent = new Map()
    }
    const { tenantId } = query.subject
    if ((spent.get(tenantId) ?? 0) >= limit && !isRepair(query)) throw tooCostly(1)
    try {
      return ask()
    } finally {
      spent.set(tenantId, (spent.get(tenantId) ?? 0) + Math.min(now() - begun, maxCounted))
    }
  }
  return {
    ...engine,
    decide: (query) => within(query, () => engine.decide(query)),
    explain: (query, policies) => within(query, () => engine.explain(query, policies)),
  }
}

const isRepair = ({ action, subject }: AnyQuery): boolean =>
  isServiceAction(action) &&
  actions[action].shield === 'owner' &&
  (subject.membership?.systemRoles.includes('owner') ?? false)

/** Paces the many decisions of one request. */
export interface DecisionPace {
  /** To be awaited before each: lets others have the event loop where due, and throws 503 `too_costly` beyond the limit. */
  next(): Promise<void>
}

const msAtOnce = 25

/** A pace of 25 ms at a time, and `limit` ms in all. */
export function decisionPace(limit: number, now: () => number = () => performance.now()): DecisionPace {
  let begun: number | undefined
  let spent = 0
  return {
    async next() {
      begun ??= now()
      if (now() - begun < msAtOnce) return
      spent += now() - begun
      if (spent >= limit) throw tooCostly(1)
      await turnOfLoop()
      begun = now()
    },
  }
}
