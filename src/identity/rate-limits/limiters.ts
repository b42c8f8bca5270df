import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRedis,
  RateLimiterRes,
} from 'rate-limiter-flexible'
import type { Databases } from '../../database/executor/transaction.ts'
import type { Config } from '../../settings/config.ts'
import { countStranger, type Sender } from './count-stranger.ts'
import { invitationUses, type Limit, type LimitName, limitsOf, throttled, type Use } from './limits.ts'
import { rateLimitClient } from './store.ts'

/** The limits that RATE_LIMIT_ENABLED switches on. Windows are fixed and follow the wall clock, not `deps.clock`. */
export interface Limiters {
  /** Counts all these uses, or none and throws 429 `throttled` if a limit is used up. */
  take(uses: readonly Use[]): Promise<void>
  /** Takes back what {@link take} counted. */
  giveBack(uses: readonly Use[]): Promise<void>
  /** Counts a mail to a stranger, see {@link countStranger}; throws 429 `throttled`. */
  stranger(sender: Sender, email: string): Promise<void>
  /** Runs `work`, which mails an invitation to a stranger; counts the mail unless `work` fails. 429 `throttled`. */
  mailing<T>(sender: Sender, email: string, work: () => Promise<T>): Promise<T>
  close(): void
}

const none: Limiters = {
  take: async () => undefined,
  giveBack: async () => undefined,
  stranger: async () => undefined,
  mailing: (_sender, _email, work) => work(),
  close: () => undefined,
}

/**
 * Opens the limits on Redis if REDIS_URL is set, else on Postgres, so that all processes count together. While that
 * store is unavailable, each process counts on its own, in memory, without waiting. `refused` is called for each refusal.
 */
export async function openLimiters(
  config: Config,
  db: Pick<Databases, 'system'>,
  log: Logger,
  clock: () => number,
  refused: (limit: string) => void = () => undefined,
): Promise<Limiters> {
  if (!config.rateLimits) return none
  const redis = config.REDIS_URL === undefined ? undefined : await connect(config.REDIS_URL, log)
  const limits = limitsOf(config)
  const limiters = Object.fromEntries(
    Object.entries(limits).map(([name, limit]) => [name, limiterOf(name, limit, redis, db)]),
  ) as unknown as Record<LimitName, RateLimiterAbstract>
  const giveBack = async (uses: readonly Use[]) => {
    for (const { limit, key } of uses) await uncount(limiters[limit], key)
  }
  const take = async (uses: readonly Use[]) => {
    for (const [index, { limit, key }] of uses.entries()) {
      const spent = await count(limiters[limit], key)
      if (!spent) continue
      // A refused use does not count, not even for the limit that refused it.
      await giveBack(uses.slice(0, index + 1))
      refused(limit)
      throw throttled(limit, limits[limit], spent.msBeforeNext)
    }
  }
  const stranger = (sender: Sender, email: string) =>
    countStranger({ config, db, clock }, sender, email, refused)
  return {
    take,
    giveBack,
    stranger,
    async mailing(sender, email, work) {
      const uses = invitationUses(sender, email)
      await take(uses)
      try {
        await stranger(sender, email)
        return await work()
      } catch (error) {
        await giveBack(uses)
        throw error
      }
    },
    close: () => redis?.disconnect(),
  }
}

function limiterOf(
  name: string,
  { points, seconds }: Limit,
  redis: Redis | undefined,
  db: Pick<Databases, 'system'>,
) {
  const common = { keyPrefix: `bailiwick:${name}`, points, duration: seconds }
  const insured = { ...common, insuranceLimiter: new RateLimiterMemory(common) }
  return redis
    ? new RateLimiterRedis({ ...insured, storeClient: redis, rejectIfRedisNotReady: true })
    : new RateLimiterPostgres({
        ...insured,
        storeClient: rateLimitClient(db),
        storeType: 'client',
        tableName: 'rate_limits',
        tableCreated: true,
        clearExpiredByTimeout: false,
      })
}

/** The limit's window if it is used up, else undefined. */
async function count(limiter: RateLimiterAbstract, key: string): Promise<RateLimiterRes | undefined> {
  try {
    await limiter.consume(key)
    return undefined
  } catch (error) {
    if (error instanceof RateLimiterRes) return error
    throw error
  }
}

/** If the window ended meanwhile, the new one must start at zero, not at minus one. */
async function uncount(limiter: RateLimiterAbstract, key: string): Promise<void> {
  const { consumedPoints } = await limiter.reward(key)
  if (consumedPoints < 0) await limiter.penalty(key)
}

/** Commands fail at once while Redis is unavailable. A command that hangs is dropped, and Redis counts as unavailable. */
async function connect(url: string, log: Logger): Promise<Redis> {
  const { Redis } = await import('ioredis') // loading it takes a third of the start, so load it only if it is used
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: 200,
    socketTimeout: 1_000,
    retryStrategy: (times) => Math.min(times * 200, 5_000),
  })
  let away = false
  redis.on('error', (error) => {
    if (!away) log.warn({ err: error }, 'Redis is unavailable: each process counts rate limits on its own')
    away = true
  })
  redis.on('ready', () => {
    away = false
  })
  return redis
}
