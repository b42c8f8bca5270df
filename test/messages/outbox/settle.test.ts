import t from 'tap'
import { sql } from '../../../src/database/executor/transaction.ts'
import { acknowledge, deadLetter } from '../../../src/messages/outbox/acknowledge.ts'
import { acknowledgeTogether } from '../../../src/messages/outbox/acknowledge-together.ts'
import { openStage } from '../../workers/stage.ts'

t.test('a message that is delivered twice at the same time has one effect', async (t) => {
  const stage = await openStage(t)
  const { db } = stage.deps
  const tenantId = stage.tenant
  const id = await stage.append(tenantId)
  let effects = 0
  const once = () =>
    acknowledge(db, { id, tenantId, queue: 'event-fanout' }, async () => {
      effects++
    })
  t.strictSame((await Promise.all([once(), once(), once()])).sort(), [false, false, true])
  t.equal(effects, 1)
  t.equal(
    await deadLetter(db, {
      id,
      tenantId,
      queue: 'event-fanout',
      attempts: 1,
      reason: 'failed',
      error: 'late',
      at: 0,
    }),
    false,
  )
  t.equal(await stage.count('dead_letters'), 0)
})

t.test('a failed effect leaves the message in the outbox', async (t) => {
  const stage = await openStage(t)
  const tenantId = stage.tenant
  const id = await stage.append(tenantId)
  const failing = acknowledge(stage.deps.db, { id, tenantId, queue: 'event-fanout' }, async (tx) => {
    await tx.query(sql.unsafe`select 1 / 0`)
  })
  await t.rejects(failing)
  t.equal(await stage.count('outbox'), 1)
  t.equal(
    await deadLetter(stage.deps.db, {
      id,
      tenantId,
      queue: 'event-fanout',
      attempts: 3,
      reason: 'failed',
      error: 'broken',
      at: 0,
    }),
    true,
  )
  t.match(await stage.rows('select attempts, error, queue from dead_letters'), [
    { attempts: 3, error: 'broken', queue: 'event-fanout' },
  ])
  t.equal(await stage.count('outbox'), 0)
})

t.test('of messages acknowledged together, only a broken one fails, and each has one effect', async (t) => {
  const stage = await openStage(t)
  const tenantId = stage.tenant
  const ids = await Promise.all(Array.from({ length: 250 }, () => stage.append(tenantId)))
  const seen: string[] = []
  const transactions: number[] = []
  const settleOne = acknowledgeTogether(stage.deps.db, 'event-fanout', async (tx, messages) => {
    transactions.push(messages.length)
    if (messages.some((message) => message.id === ids[7])) await tx.query(sql.unsafe`select 1 / 0`)
    seen.push(...messages.map((message) => message.id))
  })
  const outcomes = await Promise.allSettled([...ids, ...ids].map((id) => settleOne({ id, tenantId })))
  t.equal(outcomes.filter((outcome) => outcome.status === 'rejected').length, 2)
  t.equal(outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value).length, 249)
  t.strictSame([...seen].sort(), ids.filter((id) => id !== ids[7]).sort())
  t.equal(await stage.count('outbox'), 1)
  t.ok(transactions.includes(100), 'the others share a transaction')
})
