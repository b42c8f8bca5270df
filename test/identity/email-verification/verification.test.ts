import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { eventsOf, openDatabase } from '../../helpers/event-log.ts'
import { type Client, startService, tokenIn } from '../../helpers/service.ts'
import { expect, foundFirm } from '../../tenancy/staff.ts'

const service = await startService(t, { actors: ['outbox-relay', 'email'] })
const database = await openDatabase(t, service)
const confirm = (token: unknown) =>
  service.call('POST', '/api/v1/auth/email/verify/confirm/', { body: { token } })
const done = { status: 200, body: { message: 'Email verified' } }
const invalid = { status: 400, body: { code: 'token_invalid' } }

/** A new person, and the tokens of their first mail and of `more` later ones. */
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

t.test('a token verifies the address once, with one event with exactly its fields', async (t) => {
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

t.test('earlier tokens stay valid until one is used; then all end', async (t) => {
  const { tokens } = await newcomer(2)
  t.equal(new Set(tokens).size, 3)
  t.match(await confirm(tokens[1]), done)
  for (const token of tokens) t.match(await confirm(token), invalid)
})

t.test('a verified person who asks for a mail gets the same answer, but no mail', async (t) => {
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

t.test('a token is valid for 24 hours, and then answers that it expired', async (t) => {
  const { tokens } = await newcomer(1)
  service.advance(86_400_000 - 1)
  t.match(await confirm(tokens[0]), done)
  const late = await newcomer()
  service.advance(86_400_000)
  t.match(await confirm(late.tokens[0]), { status: 400, body: { code: 'token_expired' } })
})

t.test('anything but a token is refused', async (t) => {
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
  t.match(await confirm(token), done, 'none of these used the token up')
})

t.test('50 parallel confirmations verify once, also with different tokens', async (t) => {
  const { ada, tokens } = await newcomer(1)
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => confirm(tokens[i % 2])))
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  for (const answer of answers.filter(({ status }) => status !== 200)) t.match(answer, invalid)
  t.equal((await verified(ada.tenantId)).length, 1)
})

t.test('the page behind a mailed link uses nothing up and reflects nothing from its URL', async (t) => {
  const { tokens } = await newcomer()
  const page = `${service.url}/verify-email?token=${tokens[0]}`
  for (const method of ['GET', 'HEAD', 'GET']) {
    const response = await fetch(page, { method })
    t.equal(response.status, 200)
    t.equal(response.url, `${service.url}/verify-email`)
    t.notMatch(await response.text(), tokens[0])
  }
  t.match(await confirm(tokens[0]), done)
})

t.test('a link leads to the service’s own address, even if the request names another Host', async (t) => {
  const ada = await service.register()
  const mail = await service.mailTo(ada.email, 'Confirm')
  t.ok(mail.text.includes(`${service.url}/verify-email?token=`))
  const { ada: bob } = await newcomer()
  await bob.post('/api/v1/auth/email/verify/send/', undefined, {
    headers: { 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' },
  })
  t.notMatch((await service.mailTo(bob.email, 'Confirm')).text, 'evil.example')
})

const me = '/api/v1/users/me/'
const reject = (token: unknown) =>
  service.call('POST', '/api/v1/auth/email/verify/reject/', { body: { token } })
const removed = { status: 200, body: { message: 'Address removed from the account' } }
const logIn = ({ email, password }: { email: string; password: string }) =>
  service.call('POST', '/api/v1/auth/login/', { body: { email, password } })
const over = { status: 401, body: { code: 'session_revoked' } }
/** Changes the address of a client's account; returns the token of the mail to the new address. */
async function move(client: Client, email: string): Promise<string> {
  await expect(200, client.patch(me, { email }))
  return tokenIn(await service.mailTo(email, 'Confirm'))
}
const auditedOf = async (target: string) =>
  (
    await database.query(
      "select tenant_id, actor_id, changes from audit_log where target_id = $1 and action = 'email_verification:reject'",
      [target],
    )
  ).rows

t.test(
  '“This was not me” deletes an account that never proved the address, and the mail says which account',
  async (t) => {
    const firm = await foundFirm(service)
    const ada = await service.signUp({ first_name: 'Read-this' })
    await expect(201, firm.owner.post(`${firm.path}/members/`, { user_id: ada.id }))
    const host = await foundFirm(service)
    await expect(201, host.owner.post(`${host.path}/invitations/`, { email: ada.email }))
    const mail = await service.mailTo(ada.email, 'Confirm')
    t.match(
      mail.text,
      /An account with this address was created at Bailiwick on \d+ November 2026 at \d\d:\d\d UTC\./,
    )
    t.notMatch(mail.text, 'Read-this', 'no text that a stranger chose')
    const [, link] = mail.text.match(/http\S+/g)!
    t.match(link, /\/reject-email\?token=[\w-]+&made=\d+$/)
    t.equal((await fetch(link!)).status, 200)
    t.equal((await ada.get(me)).status, 200, 'its page changes nothing')

    const token = tokenIn(mail)
    t.match(await reject(token), removed)
    t.match(await reject(token), invalid)
    t.match(await confirm(token), invalid)
    t.equal((await ada.get(me)).status, 401)
    t.equal((await logIn(ada)).status, 401)
    const types = (await eventsOf(database, firm.id)).map(({ type }) => type)
    t.ok(types.includes('tenant.member_removed') && types.includes('identity.user_deleted'))
    t.match(await auditedOf(ada.id), [{ tenant_id: firm.id, actor_id: null }])

    const invitation = tokenIn(await service.mailTo(ada.email, 'invited'))
    const joined = await service.call('POST', '/api/v1/invitations/accept/', {
      body: { token: invitation, password: 'a quiet harbour' },
    })
    t.match(
      joined,
      { status: 200 },
      'the reader of the mailbox is still invited, and can register the address',
    )
  },
)

t.test(
  'after a rejected change the account gets its earlier address back, as verified as that was',
  async (t) => {
    for (const wasVerified of [true, false]) {
      const { ada, tokens } = await newcomer()
      if (wasVerified) await confirm(tokens[0])
      const email = `moved.${ada.email}`
      const token = await move(ada, email)
      const { text } = await service.mailTo(email, 'Confirm')
      t.match(
        text,
        /On \d+ November 2026 at \d\d:\d\d UTC, someone asked to change the address of an account at Bailiwick to this one/,
      )
      t.match(text, /reject-email\?token=[\w-]+&changed=\d+/)
      await service.call('POST', '/api/v1/auth/password/reset/', { body: { email } })
      const reset = tokenIn(await service.mailTo(email, 'Reset'))
      t.match(await reject(token), removed)
      t.match(await ada.get(me), over)
      t.match(
        await service.call('POST', '/api/v1/auth/password/reset/confirm/', {
          body: { token: reset, password: 'another quiet harbour' },
        }),
        { status: 400 },
      )
      t.equal((await logIn({ ...ada, email })).status, 401)
      const back = await service.logIn(ada)
      t.match((await back.get(me)).body, { email: ada.email, email_verified: wasVerified })
      t.match((await back.get(`/api/v1/users/${ada.id}/`)).body, { email: ada.email }, 'also in the list')
      if (wasVerified) t.match(await service.mailTo(ada.email, 'was rejected'), { text: new RegExp(email) })
      const changes = { email: { before: email, after: ada.email } }
      t.match(await auditedOf(ada.id), [{ tenant_id: ada.tenantId, actor_id: null, changes }])
      const verify = (await newcomer()).tokens[0]
      t.equal((await confirm(verify)).status, 200)
      t.match(await reject(verify), invalid, 'a verified address cannot be rejected')
    }
  },
)

t.test(
  'a registration, a change and its rejection leave the first address with a link to reject it',
  async (t) => {
    const squatter = await service.signUp()
    const first = tokenIn(await service.mailTo(squatter.email, 'Confirm'))
    const token = await move(squatter, `own.${squatter.email}`)
    await database.query('delete from captured_mails where recipient = $1', [squatter.email])
    t.match(await reject(first), invalid, 'the change ended the first link')
    t.match(await reject(token), removed)
    const made = await database.query(
      `select l.xmin = u.xmin as together from link_tokens l join users u on u.id = l.user_id
       where u.id = $1 and l.purpose = 'email_verification' and l.used_at is null`,
      [squatter.id],
    )
    t.same(made.rows, [{ together: true }], 'the transaction of the change makes the link')
    const mail = await service.mailTo(squatter.email, 'Confirm')
    t.match(mail.text, /reject-email\?token=[\w-]+&made=\d+/)
    t.match(await reject(tokenIn(mail)), removed)
    t.equal((await logIn(squatter)).status, 401)
    const { rows } = await database.query('select from users where id = $1', [squatter.id])
    t.equal(rows.length, 0)
  },
)

t.test('the only owner of a tenant with other members loses only the address', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  const clerk = await hire('member')
  t.match(await reject(tokenIn(await service.mailTo(owner.email, 'Confirm'))), removed)
  t.match(await owner.get(me), over)
  t.equal((await logIn(owner)).status, 401)
  const { results } = await expect(200, clerk.get(`${path}/members/?user_id=${owner.id}`))
  t.match(results, [{ email: /^[\da-f-]{36}@released\.invalid$/, roles: ['owner'] }])
  t.match(await auditedOf(owner.id), [{ changes: { email: { before: owner.email } } }])
  const other = await service.signUp({ email: owner.email })
  t.not(other.id, owner.id, 'the address is free')

  const back = await service.logIn({ ...owner, email: results[0].email })
  await move(back, `right.${owner.email}`)
  const { rows } = await database.query('select from captured_mails where recipient like $1', ['%.invalid'])
  t.equal(rows.length, 0, 'no mail is sent to an unreachable address')
})

t.test('an account gets an address that it proved earlier back from one that never proved it', async (t) => {
  const { ada, tokens } = await newcomer()
  await confirm(tokens[0])
  const token = await move(ada, `first.${ada.email}`)
  const squatter = await service.signUp({ email: ada.email })
  t.match(await reject(token), removed)
  t.equal((await squatter.get(me)).status, 401)
  const back = await service.logIn(ada)
  t.match((await back.get(me)).body, { id: ada.id, email_verified: true })

  const second = await move(back, `second.${ada.email}`)
  const { ada: heir } = await newcomer()
  await expect(200, heir.patch(me, { email: ada.email }))
  t.match(await confirm(tokenIn(await service.mailTo(ada.email, 'someone asked'))), done)
  t.match(await reject(second), removed, 'the address is still released')
  t.equal((await heir.get(me)).status, 200, 'the account that proved it keeps it')
  const { rows } = await database.query('select email from users where id = $1', [ada.id])
  t.match(rows, [{ email: /@released\.invalid$/ }])
})

t.test(
  '72 hours after an account left a verified address, a rejection takes it from no other account',
  async (t) => {
    for (const isTaken of [true, false]) {
      const { ada, tokens } = await newcomer()
      await confirm(tokens[0])
      await move(ada, `first.${ada.email}`)
      service.advance(73 * 3_600_000)
      const again = await service.logIn({ ...ada, email: `first.${ada.email}` })
      const token = await move(again, `second.${ada.email}`)
      const heir = isTaken ? await service.signUp({ email: ada.email }) : null
      t.match(await reject(token), removed, 'also if a further change is young')
      if (heir) t.match((await heir.get(me)).body, { id: heir.id, email: ada.email })
      const { rows } = await database.query(
        'select email, email_verified_at, previous_verified_at from users where id = $1',
        [ada.id],
      )
      t.match(rows, [{ email: isTaken ? /@released\.invalid$/ : ada.email, email_verified_at: null }])
      if (!isTaken) t.ok(rows[0].previous_verified_at, 'a further rejection does not delete the account')
    }
  },
)

t.test('of 50 parallel confirmations and rejections with one token, one wins', async (t) => {
  for (const uses of [[reject, confirm], [reject]]) {
    const { ada, tokens } = await newcomer()
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => uses[i % uses.length]!(tokens[0])))
    const winners = answers.filter(({ status }) => status === 200)
    t.equal(winners.length, 1)
    for (const answer of answers.filter(({ status }) => status !== 200)) t.match(answer, invalid)
    const { status, body } = await ada.get(me)
    const confirmed = winners[0]?.body.message === done.body.message
    t.equal(status, confirmed ? 200 : 401)
    t.equal(body.email_verified ?? false, confirmed)
  }
})
