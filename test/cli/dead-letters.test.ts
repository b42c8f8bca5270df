import t, { type Test } from 'tap'
import { deadLetter } from '../../src/messages/outbox/acknowledge.ts'
import { startActors } from '../../workers/actors.ts'
import { mailServer } from '../workers/mail-server.ts'
import { emptyQueues } from '../workers/queue-content.ts'
import { mailActors, openStage, type Stage, until, usualBackends } from '../workers/stage.ts'
import { callCli, settingsFor } from './run-cli.ts'

const envOf = ({ urls, env }: Stage) => settingsFor(urls, env.SECRET_KEYS)

const refusing = () => Object.assign(new Error('5.1.1 no such user'), { responseCode: 550 })

/** A stage whose mail server refuses every mail for good, with `count` dead mails. */
async function withDeadMails(t: Test, kind: 'postgres' | 'redis', count: number) {
  const server = await mailServer(t)
  server.answer = refusing
  await server.start()
  const stage = await openStage(t, { kind, smtpUrl: server.url })
  const running = await startActors(stage.deps, mailActors)
  t.teardown(() => running.stop())
  for (let n = 0; n < count; n++) await stage.post(stage.tenant, `person${n}@example.test`)
  await until(async () => (await stage.count('dead_letters')) === count)
  server.received.length = 0
  return { server, stage }
}

for (const { kind, skip } of usualBackends)
  t.test(`on ${kind}`, { skip }, async (t) => {
    t.test('a dead mail is listed, replayed, and arrives once, however many replays run', async (t) => {
      const { server, stage } = await withDeadMails(t, kind, 3)
      const env = envOf(stage)
      const { dead_letters: dead, more } = (await callCli(['dead-letters', '--json'], { env })).json()
      t.equal(more, false)
      t.equal(dead.length, 3)
      t.match(dead[0], {
        queue: 'email',
        tenant_id: stage.tenant,
        failed_at: /Z$/,
        attempts: 1,
        reason: 'refused',
        error: 'The mail server refused it for good: 550',
        id: /^[\w-]{36}$/,
      })

      server.answer = () => null
      const one = dead[1].id
      t.match(await callCli(['dead-letters:replay', '--id', one], { env }), {
        code: 0,
        out: 'Replayed: 1\n',
      })
      t.match(await callCli(['dead-letters:replay', '--id', one, '--json'], { env }), {
        code: 1,
        out: '',
        said: /"not_found"/,
      })
      await until(() => server.received.length === 1)

      const all = ['dead-letters:replay', '--all', '--queue', 'email', '--json']
      const racing = await Promise.all([1, 2, 3].map(() => callCli(all, { env })))
      const counts = racing.map((ran) => ran.json().replayed as number)
      t.equal(
        counts.reduce((sum, count) => sum + count, 0),
        2,
        'each was moved by one replay',
      )
      await until(async () => (await stage.count('outbox')) === 0)
      t.same(
        server.received.map(({ to }) => to[0]).sort(),
        [0, 1, 2].map((n) => `person${n}@example.test`),
      )
      t.same(
        await stage.rows('select status, content_sealed from mails'),
        Array(3).fill({ status: 'sent', content_sealed: null }),
      )
      t.equal(await stage.count('dead_letters'), 0)
    })

    t.test('a mail that failed because there was no mail server is sent after a replay', async (t) => {
      const server = await mailServer(t)
      const stage = await openStage(t, { kind, smtpUrl: server.url })
      const before = await startActors(stage.deps, mailActors)
      await stage.post(stage.tenant, 'ada@example.test')
      await until(async () => (await stage.rows('select 1 from mails where attempts > 1')).length === 1)
      // The last attempt would come after hours. So the test itself does what that attempt does, and ends the job.
      await before.stop()
      await emptyQueues(stage)
      const [{ id }] = await stage.rows('select id from outbox')
      const death = {
        id,
        tenantId: stage.tenant,
        queue: 'email',
        attempts: 30,
        reason: 'failed' as const,
        error: 'Error ESOCKET',
        at: Date.now(),
      }
      await deadLetter(stage.deps.db, death)
      await server.start()
      const running = await startActors(stage.deps, mailActors)
      t.teardown(() => running.stop())
      t.match(await callCli(['dead-letters:replay', '--all'], { env: envOf(stage) }), {
        out: 'Replayed: 1\n',
      })
      await until(async () => (await stage.count('outbox')) === 0)
      t.same(
        server.received.map(({ to }) => to),
        [['ada@example.test']],
      )
    })
  })

t.test('mails:discard deletes waiting mails, with their address and content', async (t) => {
  const stage = await openStage(t)
  const env = envOf(stage)
  for (const name of ['ada', 'ben', 'cem']) await stage.post(stage.tenant, `${name}@example.test`)
  t.match(await callCli(['mails:discard', '--yes'], { env }), { code: 0, out: 'Discarded: 3\n' })
  t.equal(await stage.count('outbox'), 0)
  const failed = { status: 'failed', content_sealed: null }
  t.same(await stage.rows('select status, content_sealed from mails'), Array(3).fill(failed))
  t.match(await callCli(['mails:discard', '--yes', '--json'], { env }), { out: '{"discarded":0}\n' })
})

t.test('a message that fails again becomes a dead letter again, and a replay of all ends', async (t) => {
  const { stage } = await withDeadMails(t, 'postgres', 2)
  const env = envOf(stage)
  t.match(await callCli(['dead-letters:replay', '--all'], { env }), { code: 0, out: 'Replayed: 2\n' })
  await until(async () => (await stage.count('dead_letters')) === 2)
  t.match(await callCli(['dead-letters:replay', '--all', '--queue', 'webhook'], { env }), {
    code: 0,
    out: 'Replayed: 0\n',
  })
})

t.test('purging deletes dead letters from before the day, and the content of their mails', async (t) => {
  const { stage } = await withDeadMails(t, 'postgres', 3)
  const env = envOf(stage)
  await stage.root.query(
    "update dead_letters set failed_at = '2020-01-31T23:59:59.999Z' where id = (select min(id::text)::uuid from dead_letters)",
  )
  const purge = (before: string) =>
    callCli(['dead-letters:purge', '--before', before, '--yes', '--json'], { env })
  t.same((await purge('2020-01-31')).json(), { purged: 0 })
  t.same((await purge('2020-02-01')).json(), { purged: 1 })
  t.equal(await stage.count('dead_letters'), 2)
  t.equal(await stage.count('mails where content_sealed is null'), 1)
  const purgeBy = async (...filter: string[]) =>
    (await callCli(['dead-letters:purge', ...filter, '--yes', '--json'], { env })).json()
  t.same(await purgeBy('--reason', 'failed'), { purged: 0 })
  t.same(await purgeBy('--queue', 'webhook', '--reason', 'refused'), { purged: 0 })
  const [{ id }] = await stage.rows('select id from dead_letters')
  t.same(await purgeBy('--id', id), { purged: 1 })
  t.same(await purgeBy('--queue', 'email', '--reason', 'refused'), { purged: 1 })
  t.equal(await stage.count('mails where content_sealed is null'), 3)
  t.match(await callCli(['dead-letters:purge', '--yes'], { env }), {
    code: 2,
    said: /Give at least one of --id, --before, --queue and --reason/,
  })
  t.equal(await stage.count("mails where status = 'failed'"), 3)
})

t.test('the list has the latest first, can be limited to one queue, and says if it is cut', async (t) => {
  const stage = await openStage(t)
  const env = envOf(stage)
  await stage.root.query(
    `insert into dead_letters (tenant_id, id, queue, payload, created_at, failed_at, attempts, error)
     select $1, gen_random_uuid(), case n % 2 when 0 then 'email' else 'no-such-queue' end, '{"secret":"canary"}', now(),
            timestamptz '2026-01-01T00:00:00Z' + n * interval '1 day', n, 'Error ' || n from generate_series(1, 4) n`,
    [stage.tenant],
  )
  const list = async (...args: string[]) =>
    (await callCli(['dead-letters', '--json', ...args], { env })).json()
  const attempts = async (...args: string[]) =>
    (await list(...args)).dead_letters.map((dead: { attempts: number }) => dead.attempts)
  t.same(await attempts(), [4, 3, 2, 1])
  t.same(await attempts('--queue', 'email'), [4, 2])
  t.same(await attempts('--limit', '3'), [4, 3, 2])
  const misspelt = { code: 2, out: '', said: /--queue must be one of email, notices, event-fanout, webhook/ }
  for (const command of [['dead-letters'], ['dead-letters:replay', '--all']])
    t.match(await callCli([...command, '--queue', 'mail'], { env }), misspelt, 'an unknown queue is refused')
  t.equal((await list('--limit', '3')).more, true)
  const { out } = await callCli(['dead-letters'], { env })
  t.match(
    out,
    /^queue +tenant +failed_at +attempts +reason +error +id\nemail +[\w-]{36} {2}2026-01-05T00:00:00.000Z {2}4 +failed +Error 4/,
  )
  t.notMatch(out, 'canary')
})
