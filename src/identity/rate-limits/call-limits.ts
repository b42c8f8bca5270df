import type { Logger } from 'pino'
import { asSystem, type Databases } from '../../database/executor/transaction.ts'
import type { CallLimits } from '../../request/ports.ts'
import type { Config } from '../../settings/config.ts'
import { type Limit, throttled } from './limits.ts'
import { addCalls } from './store.ts'

// Every call is counted, so counting must be almost free: each process counts in memory, in windows of one minute of
// the clock. Every few seconds it shares the counts of keys that have used a tenth of their limit, through Postgres, in
// one statement. Between two exchanges, and below that tenth, processes do not know each other's calls: n processes can
// let through up to n tenths more, plus the calls that arrive between two exchanges.

interface Counter {
  /** Calls of this process. */
  own: number
  /** How many of them were shared with the other processes. */
  shared: number
  /** Calls that the other processes have shared. */
  others: number
}

const kinds = ['user', 'tenant', 'oauth-client', 'scim'] as const
type Kind = (typeof kinds)[number]

const noCounters = () =>
  Object.fromEntries(kinds.map((kind) => [kind, new Map()])) as Record<Kind, Map<string, Counter>>

const windowMs = 60_000
const exchangeMs = 5_000

/**
 * Starts counting calls; `close` ends the exchange, `refused` is called for each refusal. Counts nothing if
 * RATE_LIMIT_ENABLED is off.
 */
export function openCallLimits(
  config: Config,
  db: Pick<Databases, 'system'>,
  clock: () => number,
  log: Logger,
  refused: (limit: Kind) => void = () => undefined,
): CallLimits & { exchange(): Promise<void>; close(): void } {
  if (!config.rateLimits)
    return {
      assertLeft: () => undefined,
      count: () => ({}),
      countClient: () => undefined,
      exchange: async () => undefined,
      close: () => undefined,
    }
  const limits: Record<Kind, Limit> = {
    user: { points: config.RATE_LIMIT_PER_USER, seconds: 60 },
    tenant: { points: config.RATE_LIMIT_PER_TENANT, seconds: 60 },
    'oauth-client': { points: config.RATE_LIMIT_OAUTH_PER_CLIENT, seconds: 60 },
    scim: { points: config.RATE_LIMIT_SCIM_PER_TENANT, seconds: 60 },
  }
  const policy = `"user";q=${limits.user.points};w=60, "tenant";q=${limits.tenant.points};w=60`
  let counters = noCounters()
  let window = 0

  /** Resets every minute. */
  const startWindow = (now: number) => {
    if (Math.floor(now / windowMs) === window) return
    window = Math.floor(now / windowMs)
    counters = noCounters()
  }
  const find = (kind: Kind, id: string, endsIn: number) => {
    const counter = counters[kind].get(id) ?? { own: 0, shared: 0, others: 0 }
    const left = limits[kind].points - counter.own - counter.others
    if (left <= 0) {
      refused(kind)
      throw throttled(kind, limits[kind], endsIn)
    }
    return { counter, left }
  }
  const count = (kind: Kind, id: string, endsIn: number): number => {
    const { counter, left } = find(kind, id, endsIn)
    if (counter.own === 0) counters[kind].set(id, counter)
    counter.own++
    return left - 1
  }
  const uncount = (kind: Kind, id: string) => {
    const counter = counters[kind].get(id)
    if (counter) counter.own--
  }

  const exchange = async () => {
    const of = window
    const busy = kinds.flatMap((kind) =>
      [...counters[kind]].flatMap(([id, counter]) =>
        counter.own >= limits[kind].points / 10 && counter.own > counter.shared
          ? [{ key: `bailiwick:calls:${kind}:${id}:${of}`, counter, points: counter.own - counter.shared }]
          : [],
      ),
    )
    if (busy.length === 0) return
    busy.sort((a, b) => (a.key < b.key ? -1 : 1))
    const expire = (of + 2) * windowMs
    const sums = await asSystem(db, 'the limits span tenants', (tx) =>
      addCalls(
        tx,
        busy.map(({ key, points }) => ({ key, points, expire })),
      ),
    )
    const sumOf = new Map(sums.map(({ key, points }) => [key, points]))
    for (const { key, counter, points } of busy) {
      counter.shared += points
      counter.others = Math.max(0, (sumOf.get(key) ?? 0) - counter.shared)
    }
  }
  const timer = setInterval(() => {
    exchange().catch((error) => log.warn({ err: error }, 'calls are counted by each process alone for now'))
  }, exchangeMs).unref()

  return {
    assertLeft({ userId, tenantId, asDirectory }) {
      const now = clock()
      startWindow(now)
      const endsIn = windowMs - (now % windowMs)
      if (asDirectory) {
        find('scim', tenantId, endsIn)
        return
      }
      find('user', userId, endsIn)
      find('tenant', tenantId, endsIn)
    },
    count({ userId, tenantId, asDirectory }): Record<string, string> {
      const now = clock()
      startWindow(now)
      const endsIn = windowMs - (now % windowMs)
      if (asDirectory) {
        count('scim', tenantId, endsIn)
        return {}
      }
      const user = count('user', userId, endsIn)
      try {
        const tenant = count('tenant', tenantId, endsIn)
        const t = Math.ceil(endsIn / 1000)
        return {
          'RateLimit-Policy': policy,
          RateLimit: `"user";r=${user};t=${t}, "tenant";r=${tenant};t=${t}`,
        }
      } catch (error) {
        uncount('user', userId)
        throw error
      }
    },
    countClient(clientId) {
      const now = clock()
      startWindow(now)
      count('oauth-client', clientId, windowMs - (now % windowMs))
    },
    exchange,
    close: () => clearInterval(timer),
  }
}
