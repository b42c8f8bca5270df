import { once } from 'node:events'
import { Queue, Worker } from 'bullmq'
import { Redis, type RedisOptions } from 'ioredis'
import type { Connections, JobData } from './queue-backend.ts'

const prefix = 'bailiwick'
const connectingLimit = 5_000

/** Queues on Redis. Without Redis, adding fails at once (the outbox keeps the message), and workers wait. */
export function redisConnections(
  url: string,
  onError: (error: Error) => void,
  onReady: () => void = () => undefined,
): Connections {
  const connect = (options: RedisOptions) => {
    const retryStrategy = (times: number) => Math.min(times * 100, 1_000)
    const redis = new Redis(url, { retryStrategy, maxRetriesPerRequest: null, ...options })
    redis.on('error', onError).on('ready', onReady)
    return redis
  }
  const publishing = connect({ enableOfflineQueue: false, commandTimeout: 5_000 })
  const consuming = connect({})
  return {
    async openQueue(name) {
      // A queue made before the connection is ready asks for the server's version, fails, and never asks again.
      if (publishing.status !== 'ready')
        await once(publishing, 'ready', { signal: AbortSignal.timeout(connectingLimit) })
      const queue = new Queue<JobData>(name, { connection: publishing, prefix, skipWaitingForReady: true })
      queue.on('error', onError)
      return queue
    },
    async openWorker(name, work, options) {
      const worker = new Worker<JobData>(name, work, { ...options, connection: consuming, prefix })
      worker.on('error', onError)
      return worker
    },
    isReachable: () => consuming.status === 'ready',
    async close() {
      publishing.disconnect()
      consuming.disconnect()
    },
  }
}
