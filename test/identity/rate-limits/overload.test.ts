import { connect } from 'node:net'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { pino } from 'pino'
import t from 'tap'
import { padDuration } from '../../../src/identity/rate-limits/pad-duration.ts'
import { createKeyedSemaphore } from '../../../src/limits/keyed-semaphore.ts'
import { useProductionTimeouts } from '../../helpers/database.ts'
import { cheapHashing, startService } from '../../helpers/service.ts'
import { look } from '../../tenancy/staff.ts'

t.test('a padded answer never comes early, so that its time shows nothing of the work', async (t) => {
  for (let n = 0; n < 20; n++) {
    const begun = performance.now()
    await padDuration(5, async () => undefined)
    t.ok(performance.now() - begun >= 5)
  }
})

useProductionTimeouts(t)
const logged: string[] = []
const service = await startService(t, {
  logTo: pino({ level: 'error' }, { write: (line: string) => void logged.push(line) }),
  workers: false,
  hashing: { ...cheapHashing, inFlight: 1, waitingMax: 4 },
})

t.test(
  'logins beyond what can be hashed in two seconds are refused at once, and count in no limit',
  async (t) => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        service.call('POST', '/api/v1/auth/login/', {
          body: { email: `stranger${n}@example.com`, password: 'not this one' },
        }),
      ),
    )
    const refused = answers.filter(({ status }) => status === 503)
    t.ok(refused.length > 0, `${refused.length} refused`)
    t.ok(
      refused.every(({ body, headers }) => body.code === 'overloaded' && headers.get('retry-after') === '2'),
    )
    t.ok(answers.every(({ status }) => status === 401 || status === 503))
    const [{ count }] = await look(service, 'select count(*)::int from login_attempts')
    t.equal(count, answers.length - refused.length)
    t.same(logged, [], 'a refusal is no failure of the service')
  },
)

t.test('of the sign-ins that are taken, four for each core are at work, and the others wait', async (t) => {
  const { passwords } = service.deps
  let [atWork, most] = [0, 0]
  const work = async () => {
    most = Math.max(most, ++atWork)
    await sleep(1)
    atWork--
  }
  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => passwords.expecting(work)))
  t.equal(most, 4, 'this service has one core')
  t.same(
    outcomes.map(({ status }) => status),
    [...Array(5).fill('fulfilled'), ...Array(5).fill('rejected')],
    'four at work and one that waits, then no more',
  )
  t.match(passwords.load(), { running: { now: 0 }, waiting: { now: 0 }, expected: { now: 0, max: 5 } })
})

t.test('hanging requests of one tenant do not delay another tenant', async (t) => {
  const [noisy, neighbour] = [await service.signUp(), await service.signUp()]
  await neighbour.get('/api/v1/users/me/')
  const locker = new pg.Client({ connectionString: service.databases.superuser })
  await locker.connect()
  t.teardown(() => locker.end())
  await locker.query('begin')
  await locker.query('select from tenants where id = $1 for update', [noisy.tenantId])
  const path = `/api/v1/tenants/${noisy.tenantId}/`
  let answered = 0
  const hanging = Array.from({ length: 40 }, (_, n) =>
    noisy.put(path, { name: `Name ${n}` }).then(({ status }) => {
      answered++
      return status
    }),
  )
  await sleep(200)
  t.equal(answered, 0)
  t.match(await neighbour.get('/api/v1/users/me/'), { status: 200 })
  await locker.query('commit')
  t.same(
    new Set(await Promise.all(hanging)),
    new Set([200]),
    'requests that waited for their own tenant are answered',
  )
})

t.test(
  'a row that stays locked fails the requests that need it, but not those that queue behind them',
  async (t) => {
    const owner = await service.signUp()
    const locker = new pg.Client({ connectionString: service.databases.superuser })
    await locker.connect()
    t.teardown(() => locker.end())
    await locker.query('begin')
    await locker.query('select from tenants where id = $1 for update', [owner.tenantId])
    const path = `/api/v1/tenants/${owner.tenantId}/`
    const atWork = service.deps.config.DATABASE_POOL_SIZE!
    const hanging = Array.from({ length: atWork }, (_, n) => owner.put(path, { name: `Name ${n}` }))
    await sleep(300)
    t.match(await owner.get('/api/v1/users/me/'), { status: 200 })
    await locker.query('rollback')
    t.ok((await Promise.all(hanging)).some(({ status }) => status === 503))
  },
)

t.test('a slowly sent body does not delay others of the tenant', async (t) => {
  const member = await service.signUp()
  const { hostname, port } = new URL(service.url)
  const head = [
    'PATCH /api/v1/users/me/ HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${member.access}`,
    'Content-Type: application/json',
    'Content-Length: 100',
    '',
    '{',
  ].join('\r\n')
  for (let n = 0; n < 4 * availableParallelism() + 12; n++) {
    const socket = connect(Number(port), hostname, () => socket.write(head))
    socket.on('error', () => undefined)
    t.teardown(() => socket.destroy())
  }
  await sleep(500)
  t.match(await member.get('/api/v1/users/me/'), { status: 200 })
})

t.test('a key with a backlog has fewer turns while others have work', async (t) => {
  let now = 0
  const turn = createKeyedSemaphore(
    { maxConcurrent: 4, maxBesideOthers: 2, maxWaiting: 100, maxWaitMs: 60_000 },
    () => now,
  )
  const ends: (() => void)[] = []
  const work = () => new Promise<void>((done) => ends.push(done))
  const running = () => ends.length
  const all = Array.from({ length: 12 }, () => turn('busy', work))
  const endOne = async () => {
    ends.shift()!()
    await sleep(1)
  }
  await sleep(1)
  t.equal(running(), 4, 'alone it has all turns')
  await turn('other', async () => undefined)
  for (let n = 0; n < 3; n++) await endOne()
  t.equal(running(), 2, 'two remain')
  now = 1_000
  await endOne()
  t.equal(running(), 4, 'a second later it has all again')
  while (running() > 0) await endOne()
  await Promise.all(all)
})

t.test('a request that waits too long, or behind too many, is told to retry later', async (t) => {
  const turn = createKeyedSemaphore({ maxConcurrent: 1, maxWaiting: 1, maxWaitMs: 50 })
  let end = () => {}
  const first = turn('a', () => new Promise<void>((done) => (end = done)))
  const second = turn('a', async () => 'second')
  await t.rejects(
    turn('a', async () => 'third'),
    { code: 'overloaded', status: 503 },
    'one request is already waiting',
  )
  t.equal(await turn('b', async () => 'other'), 'other', 'another key has another queue')
  await t.rejects(second, { code: 'overloaded', status: 503 }, 'it waited too long')
  const next = turn('a', async () => 'next')
  end()
  await first
  t.equal(await next, 'next')
  await t.rejects(
    turn('a', async () => Promise.reject(new Error('broken'))),
    { message: 'broken' },
  )
  t.equal(await turn('a', async () => 'again'), 'again', 'a failed call blocks no other')
})

t.test('a request that waits too long behind a failure is told of the failure', async (t) => {
  const explainsWait = () => true
  const turn = createKeyedSemaphore({ maxConcurrent: 2, maxWaiting: 9, maxWaitMs: 50, explainsWait })
  let end = () => {}
  const held = () => new Promise<void>((done) => (end = done))
  const failing = turn('a', async () => Promise.reject(new Error('Postgres is slow')))
  const running = [turn('a', held), turn('a', held)]
  const waiting = turn('a', async () => 'waiting')
  await t.rejects(failing, { message: 'Postgres is slow' })
  await t.rejects(waiting, { message: 'Postgres is slow' })
  end()
  await Promise.race(running)
})
