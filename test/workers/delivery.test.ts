import t from 'tap'
import { startActors } from '../../workers/actors.ts'
import { header, mailServer } from './mail-server.ts'
import { mailActors, openStage, until, usualBackends } from './stage.ts'

for (const { kind, skip } of usualBackends)
  t.test(`on ${kind}`, { skip }, async (t) => {
    t.test('a mail is sent once, with its own Message-ID, and its content is erased', async (t) => {
      const server = await mailServer(t)
      await server.start()
      const stage = await openStage(t, { kind, smtpUrl: server.url })
      const running = await startActors(stage.deps, mailActors)
      t.teardown(() => running.stop())
      const id = await stage.post(stage.tenant, 'ada@example.test')
      await until(async () => (await stage.rows("select 1 from mails where status = 'sent'")).length === 1)
      t.equal(server.received.length, 1)
      const { raw, to, from } = server.received[0]!
      t.strictSame(to, ['ada@example.test'])
      t.equal(from, 'no-reply@mail.bailiwick.test')
      t.equal(header(raw, 'Message-ID'), `<${id}@mail.bailiwick.test>`)
      t.equal(header(raw, 'Auto-Submitted'), 'auto-generated')
      t.equal(header(raw, 'To'), 'ada@example.test')
      const [mail] = await stage.rows('select * from mails')
      t.equal(mail.content_sealed, null)
      t.equal(mail.attempts, 1)
      t.equal(await stage.count('outbox'), 0)
    })

    t.test(
      'a mail that was sent is not sent again when Postgres is away before that is recorded',
      async (t) => {
        const server = await mailServer(t)
        const stage = await openStage(t, { kind, smtpUrl: server.url })
        server.answer = async () => {
          await stage.cutWorkersOff()
          return null
        }
        await server.start()
        const running = await startActors(stage.deps, mailActors)
        t.teardown(() => running.stop())
        await stage.post(stage.tenant, 'ada@example.test')
        await until(() => stage.logged.some((line) => /not recorded yet|tried again/.test(line)))
        server.answer = () => null
        await stage.letWorkersBack()
        await until(async () => (await stage.count('outbox')) === 0)
        t.equal(server.received.length, 1)
        t.match(await stage.rows('select status, attempts from mails'), [{ status: 'sent', attempts: 1 }])
      },
    )

    t.test('a mail waits while the mail server is unavailable, and is sent when it is back', async (t) => {
      const server = await mailServer(t)
      const stage = await openStage(t, { kind, smtpUrl: server.url })
      const running = await startActors(stage.deps, mailActors)
      t.teardown(() => running.stop())
      await stage.post(stage.tenant, 'ada@example.test')
      await until(async () => (await stage.rows('select 1 from mails where attempts > 0')).length === 1)
      t.equal(await stage.count('outbox'), 1)
      const logged = (msg: string) =>
        stage.logged.map((line) => JSON.parse(line)).find((line) => line.msg.startsWith(msg))
      await until(() => logged('will be tried again') && logged('The mail server cannot be reached'))
      for (const msg of ['will be tried again', 'The mail server cannot be reached'])
        t.match(logged(msg), { level: 40, server: `127.0.0.1:${server.port}`, error: /ECONNREFUSED/ })
      t.match(logged('will be tried again').next_attempt_at, /^\d{4}-.*Z$/)
      await server.start()
      await until(async () => (await stage.count('outbox')) === 0)
      t.equal(server.received.length, 1)
      t.equal(await stage.count('dead_letters'), 0)
    })

    t.test('an unreadable message becomes a dead letter, and the others pass', async (t) => {
      const stage = await openStage(t, { kind })
      await stage.root.query(
        `insert into outbox (tenant_id, id, queue, payload, created_at)
         select $1, gen_random_uuid(), q, '{"v":7,"secret":"canary-poison"}', now() - interval '25 hours'
         from unnest(array['email', 'event-fanout', 'no-such-queue']) q`,
        [stage.tenant],
      )
      const running = await startActors(stage.deps, mailActors)
      t.teardown(() => running.stop())
      await stage.post(stage.tenant, 'ada@example.test')
      await stage.append(stage.tenant)
      await until(async () => (await stage.count('outbox')) === 0)
      t.equal(await stage.count('captured_mails'), 1)
      const dead = await stage.rows('select queue, error, attempts from dead_letters order by queue')
      t.strictSame(
        dead.map((row) => row.queue),
        ['email', 'event-fanout', 'no-such-queue'],
      )
      t.match(dead[0].error, /^ZodError/)
      t.notMatch(JSON.stringify(dead), /canary/)
    })

    t.test('a message for a queue of a newer release waits, and the others pass', async (t) => {
      const stage = await openStage(t, { kind })
      await stage.root.query(
        `insert into outbox (tenant_id, id, queue, payload, created_at)
         select $1, gen_random_uuid(), 'of-a-newer-release', '{"v":1}', now() from generate_series(1, 150)`,
        [stage.tenant],
      )
      const running = await startActors(stage.deps, mailActors)
      t.teardown(() => running.stop())
      await stage.post(stage.tenant, 'ada@example.test')
      await until(async () => (await stage.count('captured_mails')) === 1)
      t.equal(await stage.count('dead_letters'), 0)
      t.equal(await stage.count("outbox where queue = 'of-a-newer-release' and enqueued_at is null"), 150)
    })

    t.test(
      'a mail to a permanently refused recipient becomes a dead letter at once, a mail to a busy server does not',
      async (t) => {
        const server = await mailServer(t)
        await server.start()
        let busy = 1
        server.answer = ({ to }) => {
          if (to[0] === 'gone@example.test')
            return Object.assign(new Error('5.1.1 no such user'), { responseCode: 550 })
          if (to[0] === 'ours@example.test')
            return Object.assign(new Error('5.7.1 your address is blocked'), { responseCode: 550 })
          return busy-- > 0 ? Object.assign(new Error('try later'), { responseCode: 451 }) : null
        }
        const stage = await openStage(t, { kind, smtpUrl: server.url })
        const running = await startActors(stage.deps, mailActors)
        t.teardown(() => running.stop())
        await stage.post(stage.tenant, 'gone@example.test')
        await stage.post(stage.tenant, 'ours@example.test')
        await stage.post(stage.tenant, 'ada@example.test')
        await until(async () => (await stage.count('outbox')) === 0)
        const mails = await stage.rows('select status, attempts from mails order by id')
        t.strictSame(mails, [
          { status: 'failed', attempts: 1 },
          { status: 'failed', attempts: 1 },
          { status: 'sent', attempts: 2 },
        ])
        t.strictSame(await stage.rows('select reason, error, attempts from dead_letters order by id'), [
          { reason: 'refused', error: 'The mail server refused it for good: 550', attempts: 1 },
          { reason: 'failed', error: 'The mail server refused it for good: 550', attempts: 1 },
        ])
        t.match(await stage.rows("select data from events where type = 'tenant.mail_refused'"), [
          { data: { mail_id: /^[\w-]{36}$/, template: 'email_verification' } },
        ])
        const lines = stage.logged.map((line) => JSON.parse(line))
        const levels = lines
          .filter(({ msg }) => msg === 'became a dead letter')
          .map(({ level, reason }) => [reason, level])
        const expected = { failed: 50, refused: 40 }
        t.same(Object.fromEntries(levels), expected, 'a refused recipient is a warning: it needs no operator')
      },
    )
  })
