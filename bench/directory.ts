import { setTimeout as sleep } from 'node:timers/promises'
import { openFirm, patch, user } from '../test/directory/open-directory.ts'
import { crowd } from '../test/helpers/crowd.ts'
import { query } from '../test/helpers/query.ts'
import { startService } from '../test/helpers/service.ts'
import { percentile } from './percentile.ts'
import { rounded } from './requests.ts'

// node bench/directory.ts measures SCIM in a tenant with 100,000 people and a group of 50,000: the service, its
// Postgres and this client share the machine. Limits are off.

const people = 100_000
const ends: (() => unknown)[] = []
const service = await startService({ teardown: (end: () => unknown) => void ends.push(end) } as never, {
  workers: false,
  env: { RATE_LIMIT_SCIM_PER_TENANT: '1000000' },
})
const { superuser } = service.databases
const { owner, directory, domain, members } = await openFirm(service)
const tenantId = owner.tenantId
await crowd(superuser, { id: tenantId, size: people, since: Date.parse('2026-01-01') })
await query(
  superuser,
  `insert into directory_users (tenant_id, id, user_name, display_name, email, external_id, active, is_pending, document, created_at, updated_at)
   select tenant_id, id, email, first_name, email, 'oid-' || id, true, false, '{}', joined_at, joined_at
   from memberships where tenant_id = '${tenantId}' and kind = 'user'`,
)
const group = (await directory.post('/Groups', { displayName: 'Half' })).body.id
await query(
  superuser,
  `insert into directory_group_members (tenant_id, group_id, member_id)
   select tenant_id, '${group}', id from directory_users where tenant_id = '${tenantId}' order by id limit ${people / 2}`,
)
await query(superuser, 'vacuum analyze')
const sample = await query(
  superuser,
  `select id, user_name, external_id from directory_users where tenant_id = '${tenantId}' order by random() limit 2000`,
)
const one = (i: number) => sample[i % sample.length]!

async function timed(call: () => Promise<{ status: number; body: unknown }>): Promise<number> {
  const from = performance.now()
  const { status, body } = await call()
  if (status >= 300) throw new Error(JSON.stringify(body))
  return performance.now() - from
}
const figures: Record<string, unknown>[] = []
const report = (what: string, times: number[]) =>
  figures.push({
    what,
    p50: rounded(percentile(times, 0.5)),
    p95: rounded(percentile(times, 0.95)),
    p99: rounded(percentile(times, 0.99)),
  })
/** One request after the other; the first ones warm up. */
async function measure(what: string, count: number, call: (i: number) => Parameters<typeof timed>[0]) {
  const times: number[] = []
  for (let i = 0; i < count; i++) times.push(await timed(call(i)))
  report(what, times.slice(count / 10))
}

const find = (i: number) => () =>
  directory.get(`/Users?filter=${encodeURIComponent(`userName eq "${one(i).user_name}"`)}`)
const move = (i: number) => () => {
  const value = [{ value: one(i >> 1).id }]
  const op = i % 2 ? 'remove' : 'add'
  return directory.patch(`/Groups/${group}`, patch({ op, path: 'members', value }))
}
const create = (i: number | string) => () => directory.post('/Users', user(`new-${i}@${domain}`))

await measure('userName eq', 600, find)
await measure('externalId eq', 300, (i) => () => {
  const filter = encodeURIComponent(`externalId eq "${one(i).external_id}"`)
  return directory.get(`/Users?filter=${filter}`)
})
await measure('a page of 100, at the begin', 200, () => () => directory.get('/Users?startIndex=1&count=100'))
await measure(
  'a page of 100, in the middle',
  100,
  () => () => directory.get(`/Users?startIndex=${people / 2}&count=100`),
)
await measure('a member in or out of a group of 50,000', 400, move)
await measure('active: false and true', 200, (i) => () => {
  const value = { active: i % 2 === 1 }
  return directory.patch(`/Users/${one(i >> 1).id}`, patch({ op: 'replace', value }))
})

const made = 1_500
const from = performance.now()
let next = 0
await Promise.all(
  Array.from({ length: 8 }, async () => {
    while (next < made) await timed(create(next++))
  }),
)
const createsPerSecond = (made / (performance.now() - from)) * 1_000

/** 25 requests a second of the directory, beside four clients of the tenant that ask as fast as they get answers. */
let isOver = false
const others = Array.from({ length: 4 }, async () => {
  let answers = 0
  for (; !isOver; answers++) await timed(() => owner.get(`${members}?page_size=20`))
  return answers
})
const beside: Promise<number>[] = []
for (let i = 0; i < 500; i++) {
  beside.push(timed([find(i), move(i), create(`beside-${i}`), find(i)][i % 4]!))
  await sleep(40)
}
report('25 a second beside load', await Promise.all(beside))
isOver = true
const answers = (await Promise.all(others)).reduce((sum, n) => sum + n)
console.table(figures)
console.log({ createsPerSecond: rounded(createsPerSecond), answersBeside: answers })
for (const end of ends.reverse()) await end()
process.exit(0)
