import t from 'tap'
import { client, nameOfClient } from '../../src/messages/mail/client-name.ts'
import { openQueueBackend } from '../../src/messages/queues/queue-backend.ts'
import { proveAddress } from '../helpers/prove-address.ts'
import { startService } from '../helpers/service.ts'
import { look } from '../tenancy/staff.ts'
import { until } from '../workers/stage.ts'
import { registerPasskey } from './passkeys/software-passkey.ts'

const service = await startService(t, { actors: ['outbox-relay', 'email'] })
const hour = 3_600_000

const logIn = (person: { email: string; password: string }, userAgent: string) =>
  service.call('POST', '/api/v1/auth/login/', {
    body: { email: person.email, password: person.password },
    headers: { 'user-agent': userAgent },
  })
const mailsTo = async ({ email }: { email: string }, about: string) =>
  (
    await look(service, 'select subject, text from captured_mails where recipient = $1 order by id', [email])
  ).filter(({ subject }) => subject.includes(about))
const queued = (template: string, tenantId: string) =>
  look(service, 'select from mails where template = $1 and tenant_id = $2', [template, tenantId])

t.test('an address that no person proved gets no notices', async (t) => {
  const squatter = await service.signUp()
  for (const device of ['One', 'Two', 'Three']) t.equal((await logIn(squatter, device)).status, 200)
  const change = { current_password: squatter.password, new_password: 'another quiet harbour' }
  t.equal((await squatter.post('/api/v1/auth/password/change/', change)).status, 200)
  const { passkey } = await registerPasskey(service, squatter)
  const renamed = await squatter.patch(`/api/v1/auth/passkeys/${passkey.id}/`, { name: 'https://evil.test' })
  t.equal(renamed.status, 200)
  for (const template of ['new_sign_in', 'second_factor_added', 'passkey_renamed', 'password_changed'])
    t.same(await queued(template, squatter.tenantId), [], template)
})

t.test('an address gets five notices of a kind in an hour, then one that says how many more', async (t) => {
  const ada = await service.signUp()
  await proveAddress(service, ada)
  service.advance(hour - (service.now() % hour)) // notices are counted by the hour of the clock
  for (let n = 0; n < 8; n++) t.equal((await logIn(ada, `Firefox/${n} (Linux)`)).status, 200)
  const isHandled = async () =>
    (
      await look(service, 'select from mails where tenant_id = $1 and content_sealed is not null', [
        ada.tenantId,
      ])
    ).length === 1
  await until(isHandled)
  t.equal((await mailsTo(ada, 'New sign-in')).length, 5)
  const change = { current_password: ada.password, new_password: 'another quiet harbour' }
  const session = await service.logIn(ada)
  t.equal((await session.post('/api/v1/auth/password/change/', change)).status, 200)
  t.ok(await service.mailTo(ada.email, 'password was changed'), 'another kind has its own limit')
  Object.assign(ada, { password: change.new_password })

  service.advance(hour)
  const backend = openQueueBackend({ databaseUrl: service.databases.worker, onError: () => undefined })
  t.teardown(() => backend.close())
  await until(async () => {
    await backend.promote('notices')
    return (await mailsTo(ada, 'New sign-in')).length === 6
  })
  t.equal((await mailsTo(ada, '3 more: New sign-in')).length, 1)
  t.equal((await logIn(ada, 'Firefox/10 (Linux)')).status, 200)
  await until(async () => (await mailsTo(ada, 'New sign-in')).length === 7)
})

t.test('a mail names a browser and a system, never the words of the client', async (t) => {
  const windows = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)'
  const names: [string, string | null, string | null][] = [
    [`${windows} Chrome/142.0.0.0 Safari/537.36`, 'Chrome', 'Windows'],
    [`${windows} Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0`, 'Edge', 'Windows'],
    ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/26.0 Safari/605.1.15', 'Safari', 'macOS'],
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) CriOS/142.0 Safari/604.1', 'Chrome', 'iOS'],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', 'Firefox', 'Linux'],
    ['Mozilla/5.0 (Linux; Android 16) SamsungBrowser/29.0 Chrome/136.0', 'Samsung Internet', 'Android'],
    ['curl/8.5.0', null, null],
    ['call +1 555 0100 at once (Linux)', null, 'Linux'],
    ['', null, null],
  ]
  for (const [userAgent, browser, system] of names) {
    t.same(nameOfClient(userAgent), { browser, system })
    t.same(client.parse(`${browser} on ${system}`), { browser, system }, 'as 0.2 wrote it')
  }
  t.throws(() => client.parse({ browser: 'call +1 555 0100', system: null }))
  const ada = await service.signUp()
  await proveAddress(service, ada)
  await logIn(ada, 'Your account is locked, call +1 555 0100')
  const { text } = await service.mailTo(ada.email, 'New sign-in')
  t.notMatch(text, '555')
  t.match(text, 'Browser: An unknown program')
})
