import t from 'tap'
import { openPool } from '../../../src/database/executor/pool.ts'
import { signature } from '../../../src/messages/mail/free-text.ts'
import { senderOf } from '../../../src/messages/mail/headers.ts'
import { stationeryFor } from '../../../src/messages/mail/stationery.ts'
import { writeLetter } from '../../../src/messages/mail/templates.ts'
import { openMailTransport } from '../../../src/messages/mail/transport.ts'
import { listCapturedMails } from '../../../src/start/development/mailbox.ts'
import { mailboxPage, mailboxStyle } from '../../../src/start/development/mailbox-page.ts'
import { startActors } from '../../../workers/actors.ts'
import { mailServer } from '../../workers/mail-server.ts'
import { mailActors, openStage, until } from '../../workers/stage.ts'

const link = 'https://app.test/verify?token=abc-DEF_1'
const plain = stationeryFor({ OTP_TOTP_ISSUER_NAME: 'Bailiwick', DEFAULT_LANGUAGE: 'en' })

t.test('names of users cannot add markup or lines to a mail', async (t) => {
  const variables = {
    link: 'https://app.test/?token=a&b="><script>',
    firstName: '<img src=x>\n123456\nhttps://evil.test/?token=x',
  }
  const mail = writeLetter('password_reset', variables, plain)
  t.notMatch(mail.html, /<img|<script/)
  t.match(mail.html, '&lt;img src=x&gt;')
  t.notOk(mail.text.split('\n').includes('123456'))
  t.notOk(mail.text.split('\n').includes('https://evil.test/?token=x'))
})

t.test('texts of other users are cut, and are never in the subject', async (t) => {
  const long = 'x'.repeat(2_000)
  const inviter = signature({ firstName: '', lastName: '', email: 'ann@example.com', emailVerified: true })
  const variables = { link, tenantName: `${long}\u202e`, inviter, message: long }
  const mail = writeLetter('invitation', variables, plain)
  t.equal(mail.subject, 'You are invited to an organisation at Bailiwick')
  t.match(mail.text, `ann@example.com invites you to “${'x'.repeat(63)}…”.`)
  t.match(mail.text, `Their message: “${'x'.repeat(499)}…”`)
  const ann = { firstName: 'Ann\n', lastName: 'Lee', email: 'a@b.test', emailVerified: true }
  t.equal(signature(ann), 'Ann Lee (a@b.test)')
  t.equal(signature({ ...ann, lastName: 'boss@corp.test' }), 'Ann (a@b.test)', 'a name shows no address')
  t.equal(signature({ ...ann, emailVerified: false }), 'Ann Lee')
})

t.test('an unknown template, or variables of another one, are refused', async (t) => {
  t.throws(() => writeLetter('constructor', {}, plain), /no mail template/)
  t.throws(() => writeLetter('password_reset', { link }, plain))
  t.throws(() => writeLetter('second_factors_reset', { link }, plain))
})

t.test('the sender is parsed in all its forms', async (t) => {
  t.strictSame(senderOf('Bailiwick <no-reply@b.test>'), { name: 'Bailiwick', address: 'no-reply@b.test' })
  t.strictSame(senderOf('"Bailiwick, Ltd" <a@b.test>'), { name: 'Bailiwick, Ltd', address: 'a@b.test' })
  t.strictSame(senderOf('a@b.test'), { name: '', address: 'a@b.test' })
})

t.test('nothing is sent to an address that a parser could read as several or as another one', async (t) => {
  const server = await mailServer(t)
  await server.start()
  const stage = await openStage(t)
  const transport = openMailTransport({
    smtpUrl: server.url,
    from: 'Bailiwick <no-reply@b.test>',
    capture: stage.deps.db.worker,
  })
  t.teardown(() => transport.close())
  const mail = { subject: 'S', text: 'T', html: '<p>T</p>', at: 0 }
  const tricky = [
    'a,b@c.test',
    '"x@evil.test> y"@c.test',
    'group:a@evil.test;@c.test',
    'a@b.test\r\nBcc: z@evil.test',
  ]
  for (const [n, to] of tricky.entries())
    await transport.send({ id: `m${n}`, to, ...mail }).catch(() => undefined)
  await transport.send({ id: 'plain', to: 'ada@c.test', ...mail })
  t.strictSame(
    server.received.map(({ to }) => to),
    [['ada@c.test']],
  )
})

t.test('nothing is sent to another machine without TLS, unless a setting allows it', async (t) => {
  const server = await mailServer(t)
  await server.start()
  const stage = await openStage(t)
  // An address of this machine that is not one of the reserved loopback names.
  const smtpUrl = `smtp://0.0.0.0:${server.port}?ignoreTLS=true&requireTLS=false`
  const send = async (requireTls?: boolean) => {
    const transport = openMailTransport({
      smtpUrl,
      requireTls,
      from: 'no-reply@b.test',
      capture: stage.deps.db.worker,
    })
    t.teardown(() => transport.close())
    await transport.send({ id: 'm', to: 'ada@c.test', subject: 'S', text: 'T', html: '<p>T</p>', at: 0 })
  }
  await t.rejects(send(), /STARTTLS/)
  t.equal(server.received.length, 0)
  await send(false)
  t.equal(server.received.length, 1)
})

t.test('without a mail server mail is captured, and the mailbox shows it, newest first', async (t) => {
  const stage = await openStage(t)
  const system = await openPool(stage.urls.system, { size: 1, prepared: true, applicationName: 'test' })
  t.teardown(() => system.end())
  const running = await startActors(stage.deps, mailActors)
  t.teardown(() => running.stop())
  const first = await stage.post(stage.tenant, 'ada@example.test', link)
  await stage.post(stage.tenant, 'bob@example.test', link)
  await until(async () => (await stage.count('outbox')) === 0)
  const { count, results } = await listCapturedMails({ system })
  t.equal(count, 2)
  t.strictSame(
    results.map((mail) => mail.to),
    ['bob@example.test', 'ada@example.test'],
  )
  const one = await listCapturedMails({ system }, { to: 'Ada@Example.test' })
  t.match(one, { count: 1, results: [{ id: first, subject: 'Confirm your e-mail address' }] })
  const mail = one.results[0]!
  t.strictSame(Object.keys(mail), ['id', 'to', 'from', 'subject', 'text', 'html', 'headers', 'created_at'])
  t.match(mail.created_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  t.equal(mail.headers['Message-ID'], `<${first}@mail.bailiwick.test>`)
  const page = mailboxPage(results)
  t.match(page, `<a href="${link}"`)
  t.notMatch(page, /<script|<style|style="(?!font)/)
  t.match(mailboxStyle, /iframe/)
})
