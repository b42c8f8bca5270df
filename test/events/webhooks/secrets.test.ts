import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import t from 'tap'
import { createSealer, type Sealer } from '../../../src/crypto/seal.ts'
import { resealAll } from '../../../src/database/reseal.ts'
import { readConfig } from '../../../src/settings/config.ts'
import { openWorkerDeps } from '../../../workers/deps.ts'
import { catalogueTables } from '../../database/seed-rows.ts'
import { openDatabase } from '../../helpers/event-log.ts'
import { type Client, startService } from '../../helpers/service.ts'
import { expect, look } from '../../tenancy/staff.ts'

const logged: string[] = []
const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) })
const service = await startService(t, { actors: [], logTo: log, env: { LOG_LEVEL: 'trace' } })
const { sealer } = service.deps
const all = '/api/v1/webhooks/'
const url = 'https://receiver.example/events'
const lists = ['audit-log', 'events', 'decisions']
const day = 86_400_000

const create = async (owner: Client) => expect(201, owner.post(all, { url }))
/** The opened secrets of a webhook, and the expiry (ms) of the previous one. */
async function secretsOf(id: string, by: Sealer = sealer) {
  const [row] = await look(
    service,
    `select tenant_id, secret_sealed as now, previous_secret_sealed as before, previous_secret_expires_at as until
     from webhooks where id = '${id}'`,
  )
  const open = (sealed: Buffer | null) => sealed && by.open('webhook', sealed, `${row.tenant_id}.${id}`)
  return { now: open(row.now), before: open(row.before), until: row.until?.getTime() ?? null }
}

t.test('a rotation keeps the previous secret for 24 hours and shows the new one once', async (t) => {
  const owner = await service.signUp()
  const { id, secret: first } = await create(owner)
  t.match(await secretsOf(id), { now: first, before: null, until: null })
  const answer = await owner.post(`${all}${id}/rotate-secret/`)
  t.equal(answer.headers.get('cache-control'), 'no-store')
  const { secret: second } = answer.body
  t.match(second, /^whsec_[A-Za-z0-9+/]{43}=$/)
  t.strictSame(answer.body, {
    secret: second,
    previous_secret_expires_at: new Date(service.now() + day).toISOString(),
  })
  t.match(await secretsOf(id), { now: second, before: first, until: service.now() + day })
  const { secret: third } = await expect(200, owner.post(`${all}${id}/rotate-secret/`))
  t.match(await secretsOf(id), { now: third, before: second })
  t.equal(new Set([first, second, third]).size, 3)
  t.equal((await owner.get(`${all}${id}/`)).headers.get('etag'), '"1"', 'secrets are not part of the ETag')
})

t.test('concurrent rotations leave two secrets that were shown, the newest among them', async (t) => {
  const owner = await service.signUp()
  const { id } = await create(owner)
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => expect(200, owner.post(`${all}${id}/rotate-secret/`))),
  )
  const told = new Set(answers.map(({ secret }) => secret))
  t.equal(told.size, 6)
  const { now, before } = await secretsOf(id)
  t.ok(told.has(now) && told.has(before) && now !== before)
})

t.test('no other answer, table or log line contains a secret', async (t) => {
  const owner = await service.signUp()
  const { id, secret } = await create(owner)
  const { secret: next } = await expect(200, owner.post(`${all}${id}/rotate-secret/`))
  await expect(200, owner.patch(`${all}${id}/`, { description: 'Changed' }))
  await expect(200, owner.post(`${all}${id}/test/`))
  const seen: string[] = []
  seen.push(JSON.stringify(await expect(200, owner.get(`${all}${id}/`))))
  for (const path of [all, `${all}${id}/deliveries/`, ...lists.map((name) => `/api/v1/${name}/`)])
    seen.push(JSON.stringify(await expect(200, owner.get(`${path}?page_size=100`))))
  await expect(204, owner.delete(`${all}${id}/`))
  seen.push(JSON.stringify(await expect(200, owner.get('/api/v1/audit-log/?page_size=100'))))
  const database = await openDatabase(t, service)
  for (const { name } of await catalogueTables(database)) {
    const { rows } = await database.query(`select t::text as text from ${name} t`)
    seen.push(...rows.map(({ text }) => text))
  }
  t.ok(logged.length > 10)
  const text = [...seen, ...logged].join('\n')
  for (const told of [secret, next]) {
    const bytes = Buffer.from(told.slice(6), 'base64')
    for (const form of [
      told.slice(6),
      bytes.toString('hex'),
      bytes.toString('base64url'),
      Buffer.from(told).toString('hex'),
    ])
      t.notOk(text.includes(form))
  }
  t.notMatch(text, /whsec_/)
})

t.test('both secrets are sealed again with a new key', async (t) => {
  const owner = await service.signUp()
  const { id, secret: first } = await create(owner)
  const { secret: second } = await expect(200, owner.post(`${all}${id}/rotate-secret/`))
  const key = randomBytes(32)
  const keys = [key, ...service.deps.config.SECRET_KEYS!]
  const { databases } = service
  const config = readConfig({
    NODE_ENV: 'test',
    DATABASE_WORKER_URL: databases.worker,
    SECRET_KEYS: keys.map((one) => one.toString('base64url')).join(','),
  })
  const worker = await openWorkerDeps(config, log, service.now)
  t.teardown(() => worker.close())
  const results = await resealAll({ ...service.deps.db, ...worker.db }, createSealer(keys))
  t.ok(
    results
      .filter(({ table }) => table === 'webhooks')
      .every(({ resealed, lost }) => resealed > 0 && lost === 0),
  )
  t.match(await secretsOf(id, createSealer([key])), { now: second, before: first })
})
