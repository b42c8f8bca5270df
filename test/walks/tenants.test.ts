import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import t from 'tap'
import { listRoutes } from '../../src/app.ts'
import type { Route } from '../../src/platform/http/route.ts'
import { rounds } from '../helpers/rounds.ts'
import { type Answer, type Client, startService } from '../helpers/service.ts'
import { catalogueTables, seedRows } from '../platform/db/seed-rows.ts'

// Tenant B has a row in every table. A member of tenant A must not learn that any of these rows exists. So every route
// with an id is called with every id of B, and must answer as for an unknown id.

const service = await startService(t, { workers: false })
const routes = listRoutes(service.deps, { ready: async () => undefined, drain() {} })
const superuser = new pg.Client({ connectionString: service.databases.superuser })
await superuser.connect()
t.teardown(() => superuser.end())

const ada = await service.signUp()
const tables = await catalogueTables(superuser)
const b = { tenantId: randomUUID(), userId: randomUUID() }
await seedRows(superuser, tables, b)
await superuser.query('delete from manifests') // they are of every tenant, and an arbitrary one is no document
const tablesById = await idsIn(b.tenantId)
const idsOfB = [...tablesById.keys()]

/** Every UUID in the rows of a tenant or its user that is the id of an object, with the tables that it was found in. */
async function idsIn(tenantId: string): Promise<Map<string, string>> {
  const found = new Map([tenantId, b.userId].map((id) => [id, '']))
  for (const { name, columns, types } of tables) {
    const ids = columns.filter((_, n) => types[n] === 'uuid')
    if (ids.length === 0) continue
    const own = columns.includes('tenant_id')
      ? `where tenant_id = '${tenantId}'`
      : `where '${b.userId}' in (${ids})`
    const { rows } = await superuser.query(`select ${ids} from ${name} ${own}`)
    for (const id of rows.flatMap((row) => Object.values<unknown>(row)))
      if (typeof id === 'string') found.set(id, `${found.get(id) ?? ''} ${name}`)
  }
  return found
}

/**
 * The ids to ask a route for: in the nightly tests all, else those in tables that are named like the route, and a share
 * of the others that differs from route to route.
 */
function idsFor({ path }: Route, place: number): string[] {
  const stems = path.split('/').flatMap((part) => (/^[a-z]{4}/.test(part) ? [part.slice(0, 5)] : []))
  const share = rounds(10, 1)
  return idsOfB.filter(
    (id, n) => (n + place) % share === 0 || stems.some((stem) => tablesById.get(id)!.includes(stem)),
  )
}

/** A digest of every row of B in every table. */
async function stateOfB(): Promise<string> {
  const parts: string[] = []
  for (const { name, columns } of tables) {
    const own = columns.includes('tenant_id')
      ? `t.tenant_id = '${b.tenantId}'`
      : columns.includes('user_id')
        ? `t.user_id = '${b.userId}'`
        : columns.includes('id')
          ? `t.id in ('${b.tenantId}', '${b.userId}')`
          : 'false'
    const { rows } = await superuser.query(
      `select md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as digest from ${name} t where ${own}`,
    )
    parts.push(`${name} ${rows[0].digest}`)
  }
  return parts.join('\n')
}

const masked = ({ status, body, headers }: Answer, id: string) => ({
  status,
  headers: ['content-type', 'cache-control', 'www-authenticate', 'allow', 'etag'].map((name) =>
    headers.get(name),
  ),
  body: JSON.stringify({ ...body, instance: '', decision_id: '' }).replaceAll(id, '<id>'),
})

/** The routes with an id other than that of the caller's own tenant, and not one that the caller makes up. */
const withIds = routes.filter(
  ({ path, scope, action, creates }) =>
    action !== 'public' &&
    !creates &&
    path.replace(scope === 'token' ? '' : '/tenants/:id', '').includes(':'),
)

const addressed = (route: Route, client: Client, id: string) => {
  const path = route.scope === 'token' ? route.path : route.path.replace(':id', client.tenantId)
  return `${path.replace(/:\w+/g, id)}/`
}

const bodies: unknown[] = [
  {},
  { name: 'x', first_name: 'x', roles: ['member'], status: 'suspended', comment: 'x', is_active: false },
]

t.test(
  'an id of another tenant is answered like an unknown id, byte for byte, and changes nothing',
  async (t) => {
    const before = await stateOfB()
    t.ok(idsOfB.length >= tables.length / 2, `${idsOfB.length} ids of B`)
    let requests = 0
    for (const [place, route] of withIds.entries())
      for (const body of route.method === 'GET' ? [undefined] : bodies) {
        const ask = (id: string) =>
          service.call(route.method, addressed(route, ada, id), {
            token: ada.access,
            body,
            headers: { 'x-tenant-id': b.tenantId },
          })
        const unknown = randomUUID()
        const expected = masked(await ask(unknown), unknown)
        t.ok(expected.status >= 400, `${route.method} ${route.path} ${expected.status}`)
        const ids = idsFor(route, place)
        requests += ids.length
        // One assertion for all ids, because thousands of assertions cost more than the requests.
        const others: unknown[] = []
        for (const id of ids) {
          const answer = masked(await ask(id), id)
          if (!isDeepStrictEqual(answer, expected)) others.push({ id, answer })
        }
        t.same(
          others,
          [],
          `${route.method} ${route.path} answers each of ${ids.length} ids as an unknown one`,
        )
      }
    t.equal(await stateOfB(), before)
    t.comment(`${requests} requests`)
  },
)

t.test('another tenant in a body or a query gives no access to it', async (t) => {
  const before = await stateOfB()
  const refusal = { status: 403, body: { code: 'no_active_membership' } }
  for (const id of idsOfB.slice(0, 20)) {
    const switched = await ada.post('/api/v1/auth/switch-tenant/', { tenant_id: id })
    t.match(switched, refusal)
    const login = { email: ada.email, password: ada.password, tenant_id: id }
    t.match(await service.call('POST', '/api/v1/auth/login/', { body: login }), refusal)
  }
  for (const id of ['', null, 0, {}, [], 'x', [ada.tenantId], { id: ada.tenantId }]) {
    t.equal(
      (await ada.post('/api/v1/auth/switch-tenant/', { tenant_id: id })).status,
      400,
      JSON.stringify(id),
    )
    const login = { email: ada.email, password: ada.password, tenant_id: id }
    t.equal(
      (await service.call('POST', '/api/v1/auth/login/', { body: login })).status,
      400,
      JSON.stringify(id),
    )
  }
  t.equal((await ada.post('/api/v1/auth/switch-tenant/')).status, 400, 'left out')
  for (const route of routes.filter(
    ({ method, path, action }) => method === 'GET' && !path.includes(':') && action !== 'public',
  )) {
    const query = `tenant_id=${b.tenantId}&tenant=${b.tenantId}&user_id=${b.userId}`
    const [plain, wider] = [await ada.get(`${route.path}/`), await ada.get(`${route.path}/?${query}`)]
    if (wider.status === 400) continue // the list knows this filter, but not the value
    t.notMatch(JSON.stringify(wider.body.results ?? wider.body), b.tenantId, route.path)
    t.ok((wider.body.results?.length ?? 0) <= (plain.body.results?.length ?? 0), route.path)
  }
  t.equal(await stateOfB(), before)
})

t.test('no list of A shows a row of B', async (t) => {
  const lists = routes.filter(
    ({ method, path, action }) =>
      method === 'GET' && !/(?<!tenants\/):\w+|:id$/.test(path) && action !== 'public',
  )
  for (const route of lists) {
    const path = route.path.replace(':id', ada.tenantId)
    const { body, status } = await ada.get(`${path}/`)
    t.equal(status, 200, path)
    const text = JSON.stringify(body)
    t.same(
      idsOfB.filter((id) => text.includes(id)),
      [],
      `${path} shows none of ${idsOfB.length} ids`,
    )
  }
})
