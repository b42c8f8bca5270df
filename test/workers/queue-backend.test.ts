import t from 'tap'
import { DelayedError } from '../../src/messages/queues/delayed-error.ts'
import type { QueueBackend, Work } from '../../src/messages/queues/queue-backend.ts'
import type { QueuedMessage } from '../../src/messages/queues/queued-message.ts'
import { superuserUrl } from '../helpers/cluster.ts'
import { emptyQueues, markStalledForGood } from './queue-content.ts'
import { backends, openStage, until } from './stage.ts'

// The contract of QueueBackend, on each backend. Code on top of it (actors, relay, board) is tested on Postgres, and in
// the nightly tests on both.

const { release } = await superuserUrl()
t.teardown(release)

const queue = 'email'
const message = (id: string): QueuedMessage => ({ id, tenantId: `tenant-of-${id}`, payload: { v: 1, id } })
const many = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => message(`m${String(from + n).padStart(3, '0')}`))

for (const { kind, skip } of backends)
  t.test(`a queue on ${kind}`, { skip }, async (t) => {
    const stage = await openStage(t, { kind })
    const backend = stage.openBackend()
    t.teardown(() => backend.close())
    const consume = (work: Work, more: Partial<Parameters<QueueBackend['consume']>[1]> = {}, name = queue) =>
      backend.consume(
        name,
        {
          concurrency: 1,
          lockDuration: 30_000,
          retryDelay: () => 1,
          abandoned: async () => undefined,
          ...more,
        },
        work,
      )
    const waiting = async () => {
      const states = (await backend.measure([queue])).filter(
        ({ labels, value }) => 'state' in labels && value > 0,
      )
      return Object.fromEntries(states.map(({ labels, value }) => [Reflect.get(labels, 'state'), value]))
    }

    await t.test('a message is added once by its id, and counted', async (t) => {
      await backend.add(queue, many(0, 3))
      await backend.add(queue, many(1, 3))
      await backend.add(queue, many(2, 30))
      t.same(await waiting(), { waiting: 32 })
    })

    await t.test('messages arrive as they were added, in order, and are gone afterwards', async (t) => {
      const got: [QueuedMessage, number][] = []
      const consumer = await consume(async (message, attempt) => void got.push([message, attempt]))
      await until(() => got.length === 32)
      t.same(
        got,
        many(0, 32).map((message) => [message, 1]),
      )
      t.equal(consumer.isRunning(), true)
      await consumer.close()
      t.equal(consumer.isRunning(), false)
      t.same(await waiting(), {})
    })

    await t.test('no more jobs than the concurrency run at once, and close waits for them', async (t) => {
      const begun: string[] = []
      const ended: string[] = []
      const gate = Promise.withResolvers<void>()
      const work: Work = async ({ id }) => {
        begun.push(id)
        await gate.promise
        ended.push(id)
      }
      const consumer = await consume(work, { concurrency: 2 })
      await backend.add(queue, many(100, 5))
      await until(() => begun.length === 2)
      const closed = consumer.close()
      t.equal(ended.length, 0)
      gate.resolve()
      await closed
      t.same(ended.sort(), begun.sort())
      t.equal(begun.length, 2, 'the others wait for the next consumer')
      const rest: string[] = []
      const next = await consume(async ({ id }) => void rest.push(id))
      await until(() => rest.length === 3)
      await next.close()
      t.same(
        [...begun, ...rest].sort(),
        many(100, 5).map(({ id }) => id),
      )
    })

    await t.test('a failed job comes again after its delay, and its attempts are counted', async (t) => {
      const attempts: number[] = []
      const delays: [number, unknown][] = []
      const failure = new Error('not now')
      const retryDelay = (attempt: number, error: unknown) => {
        delays.push([attempt, error])
        return 1
      }
      const work: Work = async (_message, attempt) => {
        attempts.push(attempt)
        if (attempt < 3) throw failure
      }
      const consumer = await consume(work, { retryDelay })
      await backend.add(queue, [message('again')])
      await until(() => attempts.length === 3)
      await consumer.close()
      t.same(attempts, [1, 2, 3])
      t.strictSame(delays, [
        [1, failure],
        [2, failure],
      ])
      t.same(await waiting(), {})
    })

    await t.test('a delayed job comes again without a counted attempt', async (t) => {
      const attempts: number[] = []
      const consumer = await consume(async (_message, attempt) => {
        attempts.push(attempt)
        if (attempts.length < 3) throw new DelayedError(1)
      })
      await backend.add(queue, [message('later')])
      await until(() => attempts.length === 3)
      await consumer.close()
      t.same(attempts, [1, 1, 1])
    })

    await t.test('a job that waits for its next attempt can be made due at once', async (t) => {
      const attempts: number[] = []
      const work: Work = async (_message, attempt) => {
        attempts.push(attempt)
        if (attempt === 1) throw new Error('in an hour')
      }
      const consumer = await consume(work, { retryDelay: () => 3_600_000 })
      await backend.add(queue, [message('promoted')])
      await until(async () => Reflect.get(await waiting(), 'delayed') === 1)
      t.equal(await backend.promote(queue), 1)
      await until(() => attempts.length === 2)
      await consumer.close()
      t.equal(await backend.promote(queue), 0)
    })

    await t.test('a message that lost its job is found, and can be added again', async (t) => {
      const kept = many(200, 2)
      const jobs = kept.map(({ id }) => id)
      await backend.add(queue, kept)
      t.same(await backend.findLost(queue, [...jobs, 'never added']), ['never added'])
      await emptyQueues(stage)
      t.same(await backend.findLost(queue, jobs), jobs)
      await backend.add(queue, kept)
      t.same(await backend.findLost(queue, jobs), [])
    })

    await t.test('a message over which processes kept dying is given up', async (t) => {
      const given: string[] = []
      const begun: string[] = []
      await markStalledForGood(stage)
      const consumer = await consume(async ({ id }) => void begun.push(id), {
        abandoned: async ({ id, tenantId }) => void given.push(`${id} ${tenantId}`),
      })
      await until(() => given.length === 2)
      await consumer.close()
      t.same(given.sort(), ['m200 tenant-of-m200', 'm201 tenant-of-m201'])
      t.same(begun, [])
    })

    await t.test('a schedule exists once, however often it is registered', async (t) => {
      const runs: unknown[] = []
      const name = 'otp-expiry'
      for (let n = 0; n < 3; n++) await backend.schedule(name, 200)
      const jobs = (await backend.measure([name])).filter(({ gauge }) => gauge === 'queueJobs')
      t.equal(
        jobs.reduce((sum, { value }) => sum + value, 0),
        1,
      )
      const consumer = await consume(async ({ payload }) => void runs.push(payload), {}, name)
      await until(() => runs.length >= 3)
      await consumer.close()
      t.same(runs[0], { v: 1 })
    })

    await t.test('another backend of the same server sees the same queues', async (t) => {
      const other = stage.openBackend()
      await backend.add(queue, [message('shared')])
      t.same(await other.findLost(queue, ['shared']), [])
      await other.close()
      t.match(await waiting(), { waiting: 1 }, 'closing it leaves the first one open')
    })
  })
