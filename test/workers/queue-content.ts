import { Redis } from 'ioredis'
import type { Stage } from './stage.ts'

const bullmqTables = `select table_name from information_schema.tables where table_schema = 'bullmq' and table_type = 'BASE TABLE'`

/** The whole content of the queues, as text. */
export async function dumpOfQueues(stage: Stage): Promise<string> {
  if (stage.redis) return onRedis(stage, async (redis) => JSON.stringify(await contentOf(redis)))
  const parts: unknown[] = []
  for (const { table_name } of await stage.rows(bullmqTables))
    parts.push(await stage.rows(`select * from bullmq."${table_name}"`))
  return JSON.stringify(parts)
}

/** Deletes every job, as a server without persistence does. */
export async function emptyQueues(stage: Stage): Promise<void> {
  if (stage.redis) await onRedis(stage, (redis) => redis.flushall())
  else await stage.root.query('delete from bullmq.job')
}

/** Marks jobs as BullMQ does when they stalled too often, which would take minutes. */
export async function markStalledForGood(stage: Stage): Promise<void> {
  const reason = 'job stalled more than allowable limit'
  if (!stage.redis) await stage.root.query('update bullmq.job set deferred_failure = $1', [reason])
  else
    await onRedis(stage, async (redis) => {
      for (const key of await redis.keys('*'))
        if ((await redis.type(key)) === 'hash' && (await redis.hexists(key, 'data')))
          await redis.hset(key, 'defa', reason)
    })
}

async function onRedis<T>(stage: Stage, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(stage.redis!.url)
  try {
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}

async function contentOf(redis: Redis): Promise<unknown[]> {
  const keys = await redis.keys('*')
  return Promise.all(
    keys.map(async (key) => {
      const type = await redis.type(key)
      if (type === 'hash') return [key, await redis.hgetall(key)]
      if (type === 'list') return [key, await redis.lrange(key, 0, -1)]
      if (type === 'zset') return [key, await redis.zrange(key, '0', '-1')]
      if (type === 'set') return [key, await redis.smembers(key)]
      if (type === 'stream') return [key, await redis.xrange(key, '-', '+')]
      return [key, await redis.get(key)]
    }),
  )
}
