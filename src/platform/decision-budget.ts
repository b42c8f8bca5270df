import { setImmediate as turnOfLoop } from 'node:timers/promises'
import { actions, isServiceAction } from '../policy-engine/catalogue/actions.ts'
import type { Lane } from '../policy-engine/evaluate/engine.ts'
import type { AnyQuery } from '../policy-engine/evaluate/query.ts'
import { type ApiError, unavailable } from './errors.ts'
import { createLoopTurns } from './loop-turns.ts'

/** 503: the policies of a tenant take more time than its limit. */
export const tooCostly = (retryAfter: number): ApiError =>
  unavailable(
    'too_costly',
    'This decision takes too long with the policies of this tenant. Ask for less at a time, or write simpler policies.',
    retryAfter,
  )

// A decision takes 2 ms at most. A much longer one was interrupted by other work of the machine.
const maxCountedMs = 50

/**
 * Wraps an engine, or its lane, to limit each tenant to `limit` ms of decisions a second; beyond that it throws 503 `too_costly`.
 * Owners can always read and change policies, because costly policies can be the cause.
 */
export function budgetEngine<Engine extends Lane>(
  engine: Engine,
  limit: number,
  now: () => number = () => performance.now(),
): Engine {
  let second = 0
  let spent = new Map<string, number>()
  const within = <T>(query: AnyQuery, ask: () => T): T => {
    const begun = now()
    if (Math.floor(begun / 1000) !== second) {
      second = Math.floor(begun / 1000)
      spent = new Map()
    }
    const { tenantId } = query.subject
    if ((spent.get(tenantId) ?? 0) >= limit && !isOwnerRecovery(query)) throw tooCostly(1)
    try {
      return ask()
    } finally {
      spent.set(tenantId, (spent.get(tenantId) ?? 0) + Math.min(now() - begun, maxCountedMs))
    }
  }
  return {
    ...engine,
    decide: (query) => within(query, () => engine.decide(query)),
    explain: (query, policies) => within(query, () => engine.explain(query, policies)),
  }
}

const isOwnerRecovery = ({ action, subject }: AnyQuery): boolean =>
  isServiceAction(action) &&
  actions[action].shield === 'owner' &&
  (subject.membership?.systemRoles.includes('owner') ?? false)

/** Limits the decisions of one request that makes many. */
export interface DecisionPace {
  /**
   * Await it before each decision. It yields to the event loop when due, and throws 503 `too_costly` over the limit.
   */
  next(): Promise<void>
}

const sliceMs = 5

/** Of all paced requests, one or a few continue in each turn of the event loop: together they must not keep it from the others. */
const continueInTurn = createLoopTurns(Number.POSITIVE_INFINITY)

/** A pace that yields after each 5 ms and allows `limit` ms in all. */
export function decisionPace(limit: number, now: () => number = () => performance.now()): DecisionPace {
  let begun: number | undefined
  let spent = 0
  return {
    async next() {
      begun ??= now()
      if (now() - begun < sliceMs) return
      spent += now() - begun
      if (spent >= limit) throw tooCostly(1)
      await turnOfLoop()
      await continueInTurn()
      begun = now()
    },
  }
}
