import { z } from 'zod'
import type { Pool } from '../database/executor/pool.ts'
import type { Databases } from '../database/executor/transaction.ts'
import { unavailable } from '../errors.ts'
import { withTimeLimit } from '../limits/time-limit.ts'
import type { Sample } from '../observe/metrics/read-sources.ts'
import { type Route, route } from '../request/route.ts'

/**
 * Reports whether this process takes requests. After `drain`, `ready` rejects, so that load balancers stop using it.
 */
export interface Readiness {
  ready(): Promise<void>
  drain(): void
}

const rememberedMs = 1_000
const timeoutMs = 1_000

/**
 * Ready means: not draining, and Postgres answered as both roles within a second (asked at most once a second). Keys,
 * policies and migrations were checked before the process listened. Redis and SMTP do not count, because no request
 * waits for them.
 */
export const createReadiness = (db: Pick<Databases, 'api' | 'system'>, clock: () => number): Readiness =>
  readinessOf([db.api, db.system], clock)

/**
 * The same for a process of workers: Postgres answers as the worker role, and `atWork` is true while the actors run.
 */
export const createWorkerReadiness = (
  { worker }: Pick<Databases, 'worker'>,
  clock: () => number,
  atWork: () => boolean,
): Readiness => readinessOf([worker], clock, atWork)

function readinessOf(pools: Pool[], clock: () => number, atWork = () => true): Readiness {
  let draining = false
  let asked = { at: Number.NEGATIVE_INFINITY, answer: Promise.resolve() }
  const ping = async () => {
    await Promise.all(pools.map((pool) => pool.ping()))
  }
  return {
    async ready() {
      if (draining) throw unavailable('dependency_unavailable', 'This process is shutting down.', 1)
      if (!atWork()) throw unavailable('dependency_unavailable', 'The actors are not running.', 1)
      if (clock() - asked.at > rememberedMs)
        asked = { at: clock(), answer: withTimeLimit(timeoutMs, ping(), noAnswer) }
      await asked.answer
    },
    drain() {
      draining = true
    },
  }
}

const noAnswer = (): never => {
  throw unavailable('dependency_unavailable', 'Postgres does not answer.', 2)
}

/** Readiness as a gauge, for alerts. */
export const readySample =
  ({ ready }: Readiness) =>
  (): Promise<Sample[]> =>
    ready().then(
      () => [{ gauge: 'ready', labels: {}, value: 1 }],
      () => [{ gauge: 'ready', labels: {}, value: 0 }],
    )

const state = <T extends string>(text: T) => z.object({ status: z.literal(text) })

export const healthRoutes = (readiness: Readiness): Route[] => [
  route({
    access: 'public',
    method: 'GET',
    path: '/healthz',
    tag: 'Service',
    summary: 'Liveness of the process',
    status: 200,
    answer: state('ok'),
    cache: 'no-store',
    handle: async () => ({ status: 'ok' as const }),
  }),
  route({
    access: 'public',
    method: 'GET',
    path: '/readyz',
    tag: 'Service',
    summary: 'Readiness of the process to take requests',
    status: 200,
    answer: state('ready'),
    refusals: [503],
    cache: 'no-store',
    handle: async () => {
      await readiness.ready()
      return { status: 'ready' as const }
    },
  }),
]
