import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { z } from 'zod'
import { listRoutes } from '../../src/app.ts'
import type { Route } from '../../src/platform/http/route.ts'
import { leak } from '../helpers/answers.ts'
import { openDatabase } from '../helpers/event-log.ts'
import { startService } from '../helpers/service.ts'

// Sends seeded random requests to every route. Every answer must follow the contract, must not be a 5xx, and must
// reveal no internals. Requests that would end the session or the tenant are left out. The tests' client also checks
// the form of every answer.

const seed = 20_261_121
const requests = 2_000
const service = await startService(t, { workers: false })
const database = await openDatabase(t, service)
const routes = listRoutes(service.deps, { ready: async () => undefined, drain() {} }).filter(
  ({ method, path }) =>
    !/logout|password|\/(suspend|archive)$/.test(path) &&
    !(method === 'DELETE' && /^\/api\/v1\/(tenants|auth\/sessions)\/:id$/.test(path)),
)
const ada = await service.signUp()
const other = await service.signUp()

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
    '..',
    '../../etc/passwd',
    '{{7*7}}',
    '#{7*7}',
  ],
  ...[
    "' or 1=1 --",
    "'; drop table users; --",
    '$1',
    '<script>',
    '\r\nX: y',
    '\u0000',
    '\ud800',
    '\udfff',
    '\uffff',
    'İ',
    'ß',
    'K',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'x'.repeat(300),
    'x'.repeat(9_000),
    '😀',
    '\u202e',
    'é',
    'e\u0301',
    '9'.repeat(400),
    '1e999',
  ],
)
const id = fc.constantFrom(
  ada.id,
  ada.tenantId,
  other.id,
  other.tenantId,
  randomUUID(),
  '00000000-0000-0000-0000-000000000000',
)
const text = fc.oneof(
  nasty,
  fc.string(),
  fc.string({ unit: 'binary' }),
  id,
  fc.constantFrom(ada.email, other.email, ada.access, ada.refresh),
)
const value: fc.Arbitrary<unknown> = fc.oneof(
  text,
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -1,
    1.5,
    2 ** 53,
    -0,
    1e308,
    [],
    {},
    [[]],
    [null],
    ['owner'],
    ['member'],
  ),
  fc.array(text, { maxLength: 4 }),
  fc.jsonValue({ maxDepth: 4 }),
)

/** Names that a body or query of this route can have. */
function namesOf({ body, query }: Route): string[] {
  const named = [body, query].flatMap((schema) => {
    if (!schema) return []
    const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as { properties?: object }
    return Object.keys(json.properties ?? {})
  })
  return [
    ...new Set([
      ...named,
      'name',
      'user_id',
      'tenant_id',
      'refresh',
      'roles',
      'id',
      '__proto__',
      'constructor',
    ]),
  ]
}

const requestOf = (route: Route) => {
  const name = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...namesOf(route)) },
    { weight: 1, arbitrary: nasty },
  )
  return fc.record({
    route: fc.constant(route),
    ids: fc.array(fc.oneof(id, id, id, nasty), { minLength: 4, maxLength: 4 }),
    query: fc.array(fc.tuple(name, text), { maxLength: 3 }),
    body: fc.oneof(
      {
        weight: 8,
        arbitrary: fc
          .array(fc.tuple(name, value), { maxLength: 5 })
          .map(
            (members) =>
              `{${members.map(([key, item]) => `${JSON.stringify(key)}:${JSON.stringify(item)}`)}}`,
          ),
      },
      { weight: 1, arbitrary: fc.json() },
      { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
    ),
    token: fc.constantFrom(ada.access, ada.access, ada.access, ada.access, ada.refresh, '', 'x'),
    type: fc.constantFrom(
      'application/json',
      'application/json',
      'application/json',
      'text/plain',
      'application/json; charset=utf-8',
    ),
  })
}

const allowed = new Set([200, 201, 204, 304, 400, 401, 403, 404, 405, 406, 409, 412, 413, 414, 415, 422, 429])
const seen = new Map<number, number>()

/** Sends one request. Throws when the answer is not allowed. */
async function send({
  route,
  ids,
  query,
  body,
  token,
  type,
}: ReturnType<typeof requestOf> extends fc.Arbitrary<infer R> ? R : never) {
  const path = `${route.path.replace(/:\w+/g, () => encodeURIComponent((ids.shift() ?? '').toWellFormed()))}/`
  const search = query.map(
    ([name, item]) => `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(item.toWellFormed())}`,
  )
  const answer = await service.call(route.method, `${path}?${search.join('&')}`, {
    token,
    headers: { 'content-type': type },
    ...(route.method !== 'GET' && { body }),
  })
  seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
  if (!allowed.has(answer.status)) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
  const told = answer.status >= 400 ? JSON.stringify(answer.body) : ''
  if (leak.test(told)) throw new Error(`reveals internals: ${told}`)
}

t.test(
  `${requests} random requests get answers of the contract, and change nothing of other users`,
  async (t) => {
    const stateOf = async (userId: string, tenantId: string) =>
      (
        await database.query(
          `select (select md5(string_agg(u::text, '|')) from users u where id = $1) as person,
                (select md5(string_agg(x::text, '|')) from tenants x where id = $2) as tenant,
                (select md5(string_agg(m::text, '|' order by m.id)) from memberships m where tenant_id = $2) as members,
                (select count(*) from sessions where user_id = $1 and ended_at is null) as sessions`,
          [userId, tenantId],
        )
      ).rows[0]
    const before = await stateOf(other.id, other.tenantId)
    const each = Math.ceil(requests / routes.length)
    // Two lanes keep the service busy while the next request is generated.
    const lane = async (part: readonly Route[]) => {
      for (const route of part)
        await fc.assert(fc.asyncProperty(requestOf(route), send), { seed, numRuns: each, endOnFailure: true })
    }
    await Promise.all([0, 1].map((n) => lane(routes.filter((_, i) => i % 2 === n))))
    t.same(await stateOf(other.id, other.tenantId), before)
    const total = [...seen.values()].reduce((sum, count) => sum + count, 0)
    t.ok(total >= requests, `${total} requests`)
    t.comment(
      `${total} requests: ${[...seen]
        .sort(([a], [b]) => a - b)
        .map(([status, count]) => `${count} × ${status}`)
        .join(', ')}`,
    )
    t.equal((await ada.get('/api/v1/users/me/')).status, 200)
  },
)
