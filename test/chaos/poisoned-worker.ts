import { setTimeout as sleep } from 'node:timers/promises'
import { acknowledge } from '../../src/messages/outbox/acknowledge.ts'
import { openQueueBackend } from '../../src/messages/queues/queue-backend.ts'
import { createLogger } from '../../src/observe/log.ts'
import { readConfig } from '../../src/settings/config.ts'
import { defineActor } from '../../workers/actor.ts'
import { openWorkerDeps } from '../../workers/deps.ts'
import { deadly, failing } from './poison.ts'

// A worker process with one actor: one message kills it, another makes it throw.

const actor = defineActor({
  name: 'webhook-once',
  queue: 'webhook-once',
  concurrency: 5,
  attempts: 4,
  backoff: { first: 50, longest: 200 },
  lockDuration: 600,
  handler: (deps) => async (delivery) => {
    const { webhook_id: id } = delivery.message
    if (id === failing) throw new Error('It fails each time')
    if (id === deadly) process.kill(process.pid, 'SIGKILL')
    await sleep(100) // long enough to be in progress when the process dies
    await acknowledge(deps.db, delivery, async () => undefined)
  },
})

const config = readConfig(undefined, ['worker'])
const deps = await openWorkerDeps(config, createLogger('warn', false))
const backend = openQueueBackend({
  databaseUrl: config.DATABASE_WORKER_URL!,
  redisUrl: config.REDIS_URL,
  onError: () => undefined,
})
await actor.start(deps, backend)
console.log('actors started')
