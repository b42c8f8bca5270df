import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { deleteOutdated } from '../../workers/retention.ts'
import { callCli, settingsFor } from '../cli/run-cli.ts'
import { numberedEventsOf, openDatabase } from '../helpers/event-log.ts'
import { startService } from '../helpers/service.ts'

// The feed over all tenants, as an application with a token from the command line reads it.

const keys = randomBytes(32).toString('base64url')
const limits = {
  RATE_LIMIT_ENABLED: 'true',
  RATE_LIMIT_LOGIN_PER_ADDRESS: '3',
  TRUSTED_PROXIES: '127.0.0.1,::1',
}
const service = await startService(t, { env: { SECRET_KEYS: keys, ...limits }, actors: ['outbox-relay'] })
const env = settingsFor(service.databases, keys)
const cli = (...args: string[]) => callCli(args, { env })
const database = await openDatabase(t, service)

const ada = await service.signUp()
const grace = await service.signUp()
const manifest = join(
  t.testdir({ 'manifest.json': '{"application":"logbook","name":"Logbook"}' }),
  'manifest.json',
)
const all = ['--application', 'logbook', '--events', '*', '--tenants', '*']
t.match(await cli('app:token', ...all), { code: 1, said: /has no manifest/ })
await cli('manifest:apply', '--file', manifest)
const { token, id: tokenId } = (await cli('app:token', ...all, '--json')).json()

const path = '/api/v1/application/events/'
const read = (query = '', as = token) => service.call('GET', `${path}${query}`, { token: as })

/** Reads to the end, `size` events at a time. */
async function readAll(after: string | undefined, size: number, as = token) {
  const events = []
  for (let cursor = after; ; ) {
    const { status, body } = await read(`?page_size=${size}${cursor ? `&after=${cursor}` : ''}`, as)
    if (status !== 200) throw new Error(`Got ${status}`)
    events.push(...body.results)
    cursor = body.after
    if (!body.has_more) return { events, after: cursor }
  }
}
const numbered = async () => {
  for (const { tenantId } of [ada, grace]) await numberedEventsOf(database, tenantId)
}

t.test('an application reads every event of every tenant once, in the order of each tenant', async (t) => {
  await numbered()
  const first = await readAll(undefined, 2)
  const { rows } = await database.query('select count(*)::int as count from events')
  t.equal(first.events.length, rows[0].count)
  t.equal(new Set(first.events.map(({ id }) => id)).size, rows[0].count)
  for (const { tenantId } of [ada, grace]) {
    const mine = first.events.filter(({ tenantid }) => tenantid === tenantId)
    t.same(
      mine.map(({ sequence }) => sequence),
      mine.map((_event, index) => index + 1),
    )
  }
  const again = await readAll(first.after, 100)
  t.same(again.events, [], 'nothing twice')

  await grace.post(`/api/v1/tenants/${grace.tenantId}/departments/`, { name: 'Bridge' })
  await ada.post(`/api/v1/tenants/${ada.tenantId}/departments/`, { name: 'Galley' })
  await numbered()
  const next = await readAll(again.after, 1)
  t.same(
    next.events.map(({ type, tenantid }) => `${type} ${tenantid}`).toSorted(),
    [ada, grace].map(({ tenantId }) => `tenant.department_created ${tenantId}`).toSorted(),
  )
  t.match(await readAll(first.after, 100), { events: { length: 2 } }, 'an older position gives them again')
})

t.test('readers at the same time miss nothing', async (t) => {
  const { after } = await readAll(undefined, 100)
  const posts = [ada, grace].flatMap((person) =>
    Array.from({ length: 8 }, (_, n) =>
      person.post(`/api/v1/tenants/${person.tenantId}/departments/`, { name: `Deck ${n}` }),
    ),
  )
  const readers = [1, 3, 100].map(async (size) => {
    const ids = new Set<string>()
    for (let cursor = after, tries = 0; ids.size < 16 && tries < 6_000; tries++, await sleep(10)) {
      const page = await readAll(cursor, size)
      for (const { id } of page.events) ids.add(id)
      cursor = page.after
    }
    return ids.size
  })
  await Promise.all(posts)
  t.same(await Promise.all(readers), [16, 16, 16])
})

t.test('only the token of an application reads it, and this token nothing else', async (t) => {
  for (const other of [undefined, ada.access, `${token.slice(0, -2)}AA`, 'bwa_x', `bwa_${tokenId}_`])
    t.match(await service.call('GET', path, { token: other }), { status: 401 }, String(other).slice(0, 8))
  for (const elsewhere of ['events/', 'users/me/', 'policies/', `tenants/${ada.tenantId}/`])
    t.match(await service.call('GET', `/api/v1/${elsewhere}`, { token }), {
      status: 401,
      body: { code: 'token_not_valid' },
    })
  t.match(await read('?after=soon'), { status: 400, body: { errors: [{ field: 'after' }] } })
  const { rows } = await database.query('select t::text as row from application_tokens t')
  t.notMatch(rows[0].row, token.slice(-43), 'only its hash is stored')
})

t.test('a token reads the events and tenants that it names, and misses none of them', async (t) => {
  const { slug } = (await ada.get(`/api/v1/tenants/${ada.tenantId}/`)).body
  const narrow = [
    '--application',
    'logbook',
    '--events',
    'tenant.department_created,identity.*',
    '--tenants',
    slug,
  ]
  const { token: narrowToken, id } = (await cli('app:token', ...narrow, '--json')).json()
  await numbered()
  const everything = await readAll(undefined, 100)
  const wanted = everything.events.filter(
    ({ type, tenantid }) =>
      tenantid === ada.tenantId && /^(tenant\.department_created$|identity\.)/.test(type),
  )
  const got = await readAll(undefined, 3, narrowToken)
  t.ok(wanted.length > 0 && wanted.length < everything.events.length)
  t.same(
    got.events.map(({ id }) => id),
    wanted.toSorted((one, other) => one.sequence - other.sequence).map(({ id }) => id),
  )
  t.equal(got.after?.split('.')[0], everything.after?.split('.')[0], 'and it is behind the events of others')
  for (const person of [grace, ada])
    await person.post(`/api/v1/tenants/${person.tenantId}/departments/`, { name: 'Brig' })
  await numbered()
  const { events } = await readAll(got.after, 1, narrowToken)
  t.match(events, [{ type: 'tenant.department_created', tenantid: ada.tenantId }])
  t.equal(events.length, 1)
  const { out } = await cli('app:tokens')
  t.match(
    out,
    new RegExp(`${id} .* \\d{4}-\\S+ +tenant.department_created,identity.\\* +${slug}`),
    'and when it was used',
  )
  t.match(out, new RegExp(`these tokens read every event of every tenant: ${tokenId}\\.`))
})

t.test('a token needs events and tenants that exist, and ends after 400 days', async (t) => {
  const refused: [string[], number, RegExp][] = [
    [[], 2, /--events and --tenants is missing/],
    [['--events', 'Tenant.*', '--tenants', '*'], 2, /--events must be types .* Did you mean tenant\.\*\?/],
    [['--events', 'tenant.*,invoice.paid', '--tenants', '*'], 2, /--events must be types/],
    [['--events', '*', '--tenants', 'no-such-tenant'], 1, /No tenant has the slug no-such-tenant/],
    [['--events', '*', '--tenants', '*', '--days', '401'], 2, /--days must be a whole number from 1 to 400/],
  ]
  for (const [args, code, said] of refused)
    t.match(await cli('app:token', '--application', 'logbook', ...args), { code, said })
})

t.test('unknown tokens are limited by address, before the database is asked', async (t) => {
  const from = (address: string, as: string) =>
    service.call('GET', path, { token: as, headers: { 'x-forwarded-for': address } })
  const unknown = () => `bwa_${randomUUID()}_${randomBytes(32).toString('base64url')}`
  const fresh = (await cli('app:token', ...all, '--json')).json()
  for (let n = 0; n < 5; n++)
    t.equal((await from('198.51.100.9', token)).status, 200, 'a valid one never counts')
  for (let n = 0; n < 3; n++) t.equal((await from('198.51.100.9', unknown())).status, 401)
  t.match(await from('198.51.100.9', unknown()), { status: 429, body: { code: 'throttled' } })
  t.equal((await from('198.51.100.9', token)).status, 200, 'nor is one refused that was valid before')
  t.equal((await from('198.51.100.10', fresh.token)).status, 200, 'another address has its own count')
})

t.test('a position that is older than the events that are kept is refused', async (t) => {
  const { after } = await readAll(undefined, 100)
  const days = 86_400_000
  service.advance(89 * days)
  t.match(await read(`?after=${after}`), { status: 200 })
  service.advance(2 * days)
  t.match(await read(`?after=${after}`), { status: 410, body: { code: 'gone' } })
  const deleted = await deleteOutdated(service.worker!)
  t.ok(deleted.feed_entries! > 0)
  t.match(await read(), { status: 200, body: { results: [], has_more: false } })
})

t.test('a token expires, and an operator can revoke it', async (t) => {
  t.match((await cli('app:tokens')).out, new RegExp(`${tokenId}  logbook +active`))
  t.match(await cli('app:revoke', '--id', tokenId), { code: 0 })
  t.match(await read(), { status: 401, body: { code: 'token_not_valid' } })
  t.match(await cli('app:revoke', '--id', tokenId), { code: 1, said: /app:tokens/ })
  const short = (await cli('app:token', ...all, '--days', '1', '--json')).json()
  service.advance(Date.now() - service.now())
  t.match(await read('', short.token), { status: 200 })
  service.advance(86_400_000)
  t.match(await read('', short.token), { status: 401, body: { reason: 'expired' } })
})
