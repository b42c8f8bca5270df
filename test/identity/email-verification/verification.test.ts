import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { eventsOf, openDatabase } from '../../helpers/event-log.ts'
import { startService, tokenIn } from '../../helpers/service.ts'

const service = await startService(t)
const database = await openDatabase(t, service)
const confirm = (token: unknown) =>
  service.call('POST', '/api/v1/auth/email/verify/confirm/', { body: { token } })
const done = { status: 200, body: { message: 'Email verified' } }
const invalid = { status: 400, body: { code: 'token_invalid' } }

/** Somebody new, and the tokens of their first mail and of `more` sent after it. */
async function newcomer(more = 0) {
  const ada = await service.signUp()
  for (let i = 0; i < more; i++)
    if ((await ada.post('/api/v1/auth/email/verify/send/')).status !== 200)
      throw new Error('Nothing was sent')
  for (let tries = 0; tries < 12_000; tries++, await sleep(25)) {
    const { body } = await service.call('GET', `/dev/mailbox?to=${encodeURIComponent(ada.email)}`, {
      headers: { accept: 'application/json' },
    })
    const tokens = body.results.map(tokenIn)
    if (tokens.length === more + 1) return { ada, tokens: tokens as string[] }
  }
  throw new Error(`${more + 1} mails to ${ada.email} did not come`)
}
const verified = async (tenantId: string) =>
  (await eventsOf(database, tenantId)).filter(({ type }) => type === 'identity.email_verified')

t.test('a token verifies the address once, with one event of exactly its fields', async (t) => {
  const { ada, tokens } = await newcomer()
  t.match(await confirm(tokens[0]), done)
  t.match(await confirm(tokens[0]), invalid)
  t.match((await ada.get('/api/v1/users/me/')).body, { email_verified: true })
  const events = await verified(ada.tenantId)
  t.same(
    events.map(({ data }) => data),
    [{ user_id: ada.id, email: ada.email }],
  )
})

t.test('earlier tokens stay good until one is used, then all die', async (t) => {
  const { tokens } = await newcomer(2)
  t.equal(new Set(tokens).size, 3)
  t.match(await confirm(tokens[1]), done)
  for (const token of tokens) t.match(await confirm(token), invalid)
})

t.test('to whoever is verified another sending answers the same, and nothing is sent', async (t) => {
  const { ada, tokens } = await newcomer()
  await confirm(tokens[0])
  const count = async () =>
    Number(
      (await database.query('select count(*) from link_tokens where user_id = $1', [ada.id])).rows[0].count,
    )
  const before = await count()
  t.match(await ada.post('/api/v1/auth/email/verify/send/'), {
    status: 200,
    body: { message: 'Verification email sent' },
  })
  t.equal(await count(), before)
})

t.test('a token lives for 24 hours, and says so afterwards', async (t) => {
  const { tokens } = await newcomer(1)
  service.advance(86_400_000 - 1)
  t.match(await confirm(tokens[0]), done)
  const late = await newcomer()
  service.advance(86_400_000)
  t.match(await confirm(late.tokens[0]), { status: 400, body: { code: 'token_expired' } })
})

t.test('what is no token is refused, whatever it is', async (t) => {
  const { ada, tokens } = await newcomer()
  const token = tokens[0]!
  for (const wrong of [
    'x',
    token.slice(0, -1),
    `${token}x`,
    token.toUpperCase(),
    ` ${token}`,
    ada.access,
    ada.refresh,
    "' or 1=1 --",
  ].filter((text) => text !== token)) {
    const answer = await confirm(wrong)
    t.equal(answer.status, 400, wrong)
    t.ok(['token_invalid', 'validation_error'].includes(answer.body.code), answer.body.code)
  }
  for (const wrong of ['', null, undefined, 7, {}, [token], 'x'.repeat(501)])
    t.match(await confirm(wrong), { status: 400, body: { code: 'validation_error', token: [String] } })
  t.match(await confirm(token), done, 'none of which used it up')
})

t.test('50 confirmations at once verify once, also with different tokens', async (t) => {
  const { ada, tokens } = await newcomer(1)
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => confirm(tokens[i % 2])))
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  for (const answer of answers.filter(({ status }) => status !== 200)) t.match(answer, invalid)
  t.equal((await verified(ada.tenantId)).length, 1)
})

t.test('the page of a mail uses nothing up and repeats nothing of its address', async (t) => {
  const { tokens } = await newcomer()
  const page = `${service.url}/verify-email?token=${tokens[0]}`
  for (const method of ['GET', 'HEAD', 'GET']) {
    const response = await fetch(page, { method })
    t.equal(response.status, 200)
    t.notMatch(await response.text(), tokens[0])
    t.equal(response.headers.get('referrer-policy'), 'no-referrer')
  }
  t.match(await confirm(tokens[0]), done)
})

t.test('a link leads to the service’s own address, whatever Host the request named', async (t) => {
  const ada = await service.register()
  const mail = await service.mailTo(ada.email, 'Confirm')
  t.ok(mail.text.includes(`${service.url}/verify-email?token=`))
  const { ada: bob } = await newcomer()
  await bob.post('/api/v1/auth/email/verify/send/', undefined, {
    headers: { 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' },
  })
  t.notMatch((await service.mailTo(bob.email, 'Confirm')).text, 'evil.example')
})
