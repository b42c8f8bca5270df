import pg from 'pg'
import t from 'tap'
import { tokensOf } from '../../../src/identity/sign-in/issue-tokens.ts'
import { refresh } from '../../../src/identity/sign-in/refresh.ts'
import { readConfig } from '../../../src/settings/config.ts'
import { openDeps } from '../../../src/start/open-deps.ts'
import { distributed, preparedStatements } from '../../helpers/database.ts'
import { rounds } from '../../helpers/rounds.ts'
import { type Answer, type Client, claimsOf, startService } from '../../helpers/service.ts'

const service = await startService(t, { workers: false })
const superuser = new pg.Client({ connectionString: service.databases.superuser })
await superuser.connect()
t.teardown(() => superuser.end())

const use = (token: string) => service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: token } })
const second = 1_000
const count = rounds(5, 20)
const parallel = 50

t.test(
  `of ${parallel} parallel uses of a refresh token all successes are one successor, in ${count} rounds`,
  async (t) => {
    const ada = await service.signUp()
    let token = ada.refresh
    let successes = 0
    for (let round = 0; round < count; round++) {
      service.advance(second)
      const answers = await Promise.all(Array.from({ length: parallel }, () => use(token)))
      const good = answers.filter((answer) => answer.status === 200)
      const bad = answers.filter((answer) => answer.status !== 200)
      t.ok(good.length >= 1)
      t.same([...new Set(good.map((answer) => claimsOf(answer.body.refresh).jti))].length, 1, 'one successor')
      t.same(
        [...new Set(bad.map((answer) => answer.body.code))],
        [],
        'no call is refused while the successor is unused',
      )
      successes += good.length
      const [next] = new Set<string>(good.map((answer) => answer.body.refresh))
      token = next!
    }
    const { rows } = await superuser.query(
      'select generation, ended_at from refresh_families where user_id = $1 and ended_at is null',
      [ada.id],
    )
    t.match(rows, [{ generation: count }], 'one live token')
    t.equal(successes, count * parallel)
    t.match(await use(token), { status: 200 })
  },
)

t.test('for 10 s a repeat returns the unused successor, then it ends the session', async (t) => {
  const ada = await service.signUp()
  const { body: first } = await use(ada.refresh)
  service.advance(9 * second)
  const repeat = await use(ada.refresh)
  t.equal(claimsOf(repeat.body.refresh).jti, claimsOf(first.refresh).jti)
  const { body: next } = await use(first.refresh)
  t.match(await use(ada.refresh), { status: 401 }, 'two behind')
  t.match(await use(first.refresh), { status: 200 }, 'one behind, within the grace')
  service.advance(11 * second)
  t.match(await use(first.refresh), { status: 401, body: { code: 'session_revoked' } })
  t.match(
    await use(next.refresh),
    { status: 401, body: { code: 'session_revoked' } },
    'the tokens of the thief and of the owner',
  )
  t.match(await service.call('GET', '/api/v1/users/me/', { token: next.access }), {
    status: 401,
    body: { code: 'session_revoked' },
  })
  const { rows } = await superuser.query(
    "select data from events where type = 'identity.session_compromised' and subject = $1",
    [ada.id],
  )
  t.same(rows, [{ data: { user_id: ada.id, session_id: claimsOf(ada.access).sid } }])
})

t.test('the person’s other sessions stay live', async (t) => {
  const ada = await service.signUp()
  const other = await service.logIn(ada)
  await use(ada.refresh)
  service.advance(11 * second)
  t.equal((await use(ada.refresh)).status, 401)
  t.equal((await ada.get('/api/v1/users/me/')).status, 401)
  t.equal((await other.get('/api/v1/users/me/')).status, 200)
  t.equal((await use(other.refresh)).status, 200)
})

t.test(
  'another process on the same database returns the same successor, and knows the revoked sessions',
  async (t) => {
    const ada = await service.signUp()
    const { config } = service.deps
    const again = readConfig({
      NODE_ENV: 'test',
      DATABASE_API_URL: service.databases.api,
      DATABASE_SYSTEM_URL: service.databases.system,
      DATABASE_WORKER_URL: service.databases.worker,
      DATABASE_PREPARED_STATEMENTS: preparedStatements,
      DATABASE_DISTRIBUTED: distributed,
      SECRET_KEYS: config.SECRET_KEYS!.map((key) => key.toString('base64url')).join(','),
    })
    const restarted = await openDeps({
      config: again,
      log: service.deps.log,
      publicUrl: service.deps.publicUrl,
      clock: service.now,
    })
    t.teardown(() => restarted.close())
    const origin = { requestId: 'restart', ip: '127.0.0.1', userAgent: '', traceparent: null }
    const { body: first } = await use(ada.refresh)
    const successorOf = async (token: string) =>
      (await tokensOf(restarted, await refresh(restarted, origin, token))) as { refresh: string }
    const repeat = await successorOf(ada.refresh)
    t.equal(claimsOf(repeat.refresh).jti, claimsOf(first.refresh).jti)
    const mixed = await Promise.all(
      Array.from({ length: 20 }, async (_, n) =>
        n % 2 ? (await use(first.refresh)).body : successorOf(first.refresh),
      ),
    )
    t.equal(new Set(mixed.map((pair) => claimsOf(pair.refresh).jti)).size, 1)
    service.advance(11 * second)
    await t.rejects(refresh(restarted, origin, ada.refresh), { code: 'session_revoked' })
    t.match(await use(mixed[0].refresh), { status: 401, body: { code: 'session_revoked' } })
  },
)

/** The number of a session's families that can still be refreshed. */
async function liveFamilies(sessionId: string): Promise<number> {
  const { rows } = await superuser.query(
    `select count(*)::int from refresh_families f join sessions s on s.id = f.session_id
     where s.id = $1 and s.ended_at is null and f.ended_at is null`,
    [sessionId],
  )
  return rows[0].count
}

/** 48 parallel calls of a session: refreshes, and switches to its own and to another tenant. */
function crowd(person: Client, elsewhere: string): Promise<Answer>[] {
  const to = (tenantId: string) => person.post('/api/v1/auth/switch-tenant/', { tenant_id: tenantId })
  return Array.from({ length: 16 }, () => [to(elsewhere), use(person.refresh), to(person.tenantId)]).flat()
}

t.test('a session has at most 20 live families, even under parallel switches and refreshes', async (t) => {
  const ada = await service.signUp()
  const { body: second } = await ada.post('/api/v1/tenants/', { name: 'Second' })
  for (let round = 0; round < 2; round++)
    for (const { status } of await Promise.all(crowd(ada, second.id)))
      if (status !== 200 && status !== 401) t.fail(`status ${status}`)
  t.equal(await liveFamilies(claimsOf(ada.access).sid), 20)
})

t.test('after a session ends, parallel calls leave none of its tokens valid', async (t) => {
  for (const end of ['logout', 'delete']) {
    const ada = await service.signUp()
    const other = await service.logIn(ada)
    const { sid } = claimsOf(ada.access)
    const { body: second } = await ada.post('/api/v1/tenants/', { name: 'Second' })
    const calls = crowd(ada, second.id)
    const ends = [1, 2].map(() =>
      end === 'logout' ? ada.post('/api/v1/auth/logout/') : other.delete(`/api/v1/auth/sessions/${sid}/`),
    )
    const answers = await Promise.all([...calls, ...ends])
    t.same(
      answers.filter(({ status }) => ![200, 204, 401, 404].includes(status)),
      [],
      end,
    )
    t.equal(await liveFamilies(sid), 0)
    const pairs = answers.filter(({ body }) => body?.refresh).map(({ body }) => body)
    for (const { access, refresh: token } of pairs.slice(0, 10)) {
      t.match(await use(token), { status: 401, body: { code: 'session_revoked' } })
      t.equal((await service.call('GET', '/api/v1/users/me/', { token: access })).status, 401)
    }
    t.equal((await use(other.refresh)).status, 200, 'the other session stays live')
  }
})
