import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type { Route } from '../../src/request/route.ts'
import { leak } from '../helpers/answers.ts'
import type { Client, Service } from '../helpers/service.ts'
import { look } from '../tenancy/staff.ts'
import type { Attack, Stage, Tally } from './attack.ts'
import { brokenBytes } from './broken-bytes.ts'
import { addressOf, membersOf, nameOf, ownIds, routesOf } from './route-addresses.ts'

// Seeded random requests to every route, and broken bytes on raw connections. No answer may be a 5xx or reveal internals,
// and other people's rows may not change.

const seed = 20_261_121

export const malformed: Attack = {
  name: 'malformed',
  about: 'random requests to every route, and broken bytes on raw connections',
  async run(stage, tally) {
    const service = await stage.fresh({ workers: false })
    const [ada, other] = [await service.signUp(), await service.signUp()]
    const before = await stateOf(service, other)
    await randomRequests(stage, tally, service, ada, other)
    await wrongBodies(tally, service, ada)
    await repeatedParameters(tally, service, ada)
    await brokenBytes(tally, service, ada, stage.pick(60, 300, 5_000))
    tally.check((await stateOf(service, other)) === before, 'the rows of others are the same as before')
    tally.check((await ada.get('/api/v1/users/me/')).status === 200, 'the service still answers')
  },
}

/** Without the requests that would end the session or the tenant. */
const isHarmless = ({ method, path }: Route) =>
  !/logout|password|keys\/revoke|\/(suspend|archive)$/.test(path) &&
  !(method === 'DELETE' && /^\/api\/v1\/(tenants\/:id|auth\/sessions\/:id|users\/me)$/.test(path))

async function randomRequests(stage: Stage, tally: Tally, service: Service, ada: Client, other: Client) {
  const routes = routesOf(service).filter(isHarmless)
  const numRuns = Math.ceil(stage.pick(800, 4_000, 46_000) / routes.length)
  const seen = new Map<number, number>()
  const send = sender(service, tally, seen)
  // Two lanes keep the service busy while the next request is generated.
  const lane = async (part: readonly Route[]) => {
    for (const route of part)
      await fc.assert(fc.asyncProperty(requestTo(route, ada, other), send), {
        seed,
        numRuns,
        endOnFailure: true,
      })
  }
  await Promise.all([0, 1].map((n) => lane(routes.filter((_, i) => i % 2 === n))))
  const statuses = [...seen].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`)
  tally.figures.push(statuses.join(', '))
}

/** Bodies that no route may read: the database cannot store NUL, and the policy engine aborts on a lone surrogate. */
const unreadable = [
  '{"name":"a\\u0000b"}',
  '{"name":"\\ud800"}',
  '{"\\udfff":1}',
  '["name"]',
  '"name"',
  'null',
  '1',
  '{"name":',
]

async function wrongBodies(tally: Tally, service: Service, ada: Client) {
  for (const route of routesOf(service).filter(({ body, file }) => body !== undefined && !file))
    for (const body of unreadable)
      await tally.refuse(
        `${nameOf(route)} ${body}`,
        () =>
          service.call(route.method, addressOf(route, ...ownIds(route, ada)), { token: ada.access, body }),
        ({ status, body }) =>
          (status === 400 && body.code === 'parse_error') || [401, 403, 404].includes(status),
      )
}

/** Two sizes of a page: a proxy that checks one and a service that reads the other would disagree. */
async function repeatedParameters(tally: Tally, service: Service, ada: Client) {
  for (const route of routesOf(service).filter(({ query }) => 'page_size' in membersOf(query)))
    await tally.refuse(
      `${nameOf(route)} page_size twice`,
      () => ada.get(`${addressOf(route, ...ownIds(route, ada))}?page_size=1&page_size=2`),
      ({ status, body }) =>
        (status === 400 && body.errors?.[0]?.field === 'page_size') || [401, 403, 404].includes(status),
    )
}

const allowed = [200, 201, 204, 304, 400, 401, 403, 404, 405, 406, 409, 410, 412, 413, 414, 415, 422, 429]

/** Sends one request and counts it. Gives true, so that the generator goes on after a finding. */
function sender(service: Service, tally: Tally, seen: Map<number, number>) {
  return async ({ route, ids, query, body, token, type }: RandomRequest): Promise<boolean> => {
    const rest = [...ids]
    const path = `${route.path.replace(/:\w+/g, () => encodeURIComponent((rest.shift() ?? '').toWellFormed()))}/`
    const search = query.map((pair) => pair.map((text) => encodeURIComponent(text.toWellFormed())).join('='))
    const ask = () =>
      service.call(route.method, `${path}?${search.join('&')}`, {
        token,
        headers: { 'content-type': type },
        ...(route.method !== 'GET' && { body }),
      })
    await tally.refuse(
      `${nameOf(route)} ${JSON.stringify({ ids, query, body, type }).slice(0, 400)}`,
      ask,
      (answer) => {
        seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
        return (
          allowed.includes(answer.status) && !(answer.status >= 400 && leak.test(JSON.stringify(answer.body)))
        )
      },
    )
    return true
  }
}

interface RandomRequest {
  route: Route
  ids: string[]
  query: string[][]
  body: string
  token: string
  type: string
}

const nasty = fc.constantFrom(
  ...[
    '',
    ' ',
    '0',
    '-1',
    'null',
    'undefined',
    'NaN',
    'true',
    "'",
    '"',
    '\\',
    '%',
    '%00',
    // `fetch` resolves `..`, and then another route answers.
    '...',
    '../../etc/passwd',
  ],
  ...["' or 1=1 --", "'; drop table users; --", '$1', '{{7*7}}', '#{7*7}', '<script>', '\r\nX: y', '\u0000'],
  ...['\ud800', '\udfff', '\uffff', 'İ', 'ß', 'K', '😀', '\u202e', 'é', 'e\u0301'],
  ...['__proto__', 'constructor', 'toString', 'x'.repeat(300), 'x'.repeat(9_000), '9'.repeat(400), '1e999'],
)

function requestTo(route: Route, ada: Client, other: Client): fc.Arbitrary<RandomRequest> {
  const nil = '00000000-0000-0000-0000-000000000000'
  const id = fc.constantFrom(ada.id, ada.tenantId, other.id, other.tenantId, randomUUID(), nil)
  const secrets = fc.constantFrom(ada.email, other.email, ada.access, ada.refresh)
  const text = fc.oneof(nasty, fc.string(), fc.string({ unit: 'binary' }), id, secrets)
  const plain = fc.constantFrom<unknown>(null, true, false, 0, -1, 1.5, 2 ** 53, -0, 1e308)
  const nested = fc.constantFrom<unknown>([], {}, [[]], [null], ['owner'], ['member'])
  const lists = fc.array(text, { maxLength: 4 })
  const value = fc.oneof<fc.Arbitrary<unknown>[]>(text, plain, nested, lists, fc.jsonValue({ maxDepth: 4 }))
  const known = fc.constantFrom(...namesOf(route))
  const name = fc.oneof({ weight: 8, arbitrary: known }, { weight: 1, arbitrary: nasty })
  const members = fc
    .array(fc.tuple(name, value), { maxLength: 5 })
    .map((pairs) => `{${pairs.map(([key, item]) => `${JSON.stringify(key)}:${JSON.stringify(item)}`)}}`)
  const json = 'application/json'
  return fc.record({
    route: fc.constant(route),
    ids: fc.array(fc.oneof(id, id, id, nasty), { minLength: 4, maxLength: 4 }),
    query: fc.array(fc.tuple(name, text), { maxLength: 3 }),
    body: fc.oneof(
      { weight: 8, arbitrary: members },
      { weight: 1, arbitrary: fc.json() },
      { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
    ),
    token: fc.constantFrom(ada.access, ada.access, ada.access, ada.access, ada.refresh, '', 'x'),
    type: fc.constantFrom(json, json, json, 'text/plain', `${json}; charset=utf-8`),
  })
}

const usualNames = ['name', 'user_id', 'tenant_id', 'refresh', 'roles', 'id', '__proto__', 'constructor']
const namesOf = ({ body, query }: Route) => [
  ...new Set([...[body, query].flatMap((schema) => Object.keys(membersOf(schema))), ...usualNames]),
]

async function stateOf(service: Service, { id, tenantId }: Client): Promise<string> {
  const [row] = await look(
    service,
    `select (select md5(string_agg(u::text, '|')) from users u where id = $1) as person,
       (select md5(string_agg(x::text, '|')) from tenants x where id = $2) as tenant,
       (select md5(string_agg(m::text, '|' order by m.id)) from memberships m where tenant_id = $2) as members,
       (select count(*) from sessions where user_id = $1 and ended_at is null) as sessions`,
    [id, tenantId],
  )
  return JSON.stringify(row)
}
