import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { Route } from '../../src/request/route.ts'
import { type CatalogueTable, catalogueTables, seedRows } from '../database/seed-rows.ts'
import type { Answer, Client, Service } from '../helpers/service.ts'
import type { Attack, Stage, Tally } from './attack.ts'
import { furnish } from './furnish.ts'
import { addressOf, membersOf, nameOf, ownAddress, ownObjects, routesOf } from './route-addresses.ts'

// Tenant B has a row in every table. Members of tenant A must not learn that any of these rows exists, and must not
// change one. So every route is called with the ids of B, in each place where an id can be written, and has to answer as
// for an unknown id, byte for byte.

export const crossTenant: Attack = {
  name: 'cross-tenant',
  about: 'ids of another tenant in paths, bodies, queries and headers',
  async run(stage, tally) {
    const service = await stage.fresh({ workers: false })
    const superuser = new pg.Client({ connectionString: service.databases.superuser })
    await superuser.connect()
    try {
      const field = await plant(service, superuser)
      const before = await digestOf(field, superuser)
      await idsInPaths(stage, tally, field)
      await idsInBodiesAndQueries(stage, tally, field)
      await switchesAndLogins(tally, field)
      await lists(tally, field)
      const after = await digestOf(field, superuser)
      tally.check(after === before, 'the rows of the other tenant are the same as before')
    } finally {
      await superuser.end()
    }
  },
}

interface Field {
  service: Service
  routes: Route[]
  owner: Client
  callers: Record<string, Client>
  tables: CatalogueTable[]
  b: { tenantId: string; userId: string }
  /** Every UUID in the rows of B, with the names of the tables that it was found in. */
  idsOfB: Map<string, string>
}

async function plant(service: Service, superuser: pg.Client): Promise<Field> {
  const { owner, hire } = await furnish(service)
  const callers = {
    owner,
    admin: await hire('admin'),
    member: await hire('member'),
    auditor: await hire('auditor'),
  }
  const tables = await catalogueTables(superuser)
  const b = { tenantId: randomUUID(), userId: randomUUID() }
  await seedRows(superuser, tables, b)
  await superuser.query('delete from manifests') // they are of every tenant, and an arbitrary one is no document
  const idsOfB = await idsIn(superuser, tables, b)
  return { service, routes: routesOf(service), owner, callers, tables, b, idsOfB }
}

async function idsIn(
  superuser: pg.Client,
  tables: CatalogueTable[],
  b: Field['b'],
): Promise<Map<string, string>> {
  const found = new Map([b.tenantId, b.userId].map((id) => [id, '']))
  for (const { name, columns, types } of tables) {
    const ids = columns.filter((_, n) => types[n] === 'uuid')
    if (ids.length === 0) continue
    const own = columns.includes('tenant_id')
      ? `where tenant_id = '${b.tenantId}'`
      : `where '${b.userId}' in (${ids})`
    const { rows } = await superuser.query(`select ${ids} from ${name} ${own}`)
    for (const id of rows.flatMap((row) => Object.values<unknown>(row)))
      if (typeof id === 'string') found.set(id, `${found.get(id) ?? ''} ${name}`)
  }
  return found
}

/** A digest of every row of B in every table. */
async function digestOf({ tables, b }: Pick<Field, 'tables' | 'b'>, superuser: pg.Client): Promise<string> {
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

const headersKept = ['content-type', 'cache-control', 'www-authenticate', 'allow', 'content-length']
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** An answer as text, without what differs for every request; the asked id and others are replaced. */
function masked({ status, body, headers }: Answer, id: string): string {
  const kept = headersKept.map((name) => headers.get(name))
  const text = JSON.stringify({ status, kept: status < 300 ? [] : kept, body })
  return text
    .replaceAll(id, '<asked>')
    .replace(uuid, '<id>')
    .replace(/"(instance|cursor)":"[^"]*"/g, '"$1":""')
    .replace(/cursor=[^"&]*/g, 'cursor=')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/unique-\d+/g, '<unique>')
    .replace(/"(duration_us|version|sequence|checksum|secret|key|prefix)":("[^"]*"|\d+)/g, '"$1":""')
}

/** Asks for foreign ids and compares with the answer for an unknown id. Gives the status of that one. */
async function compare(
  tally: Tally,
  what: string,
  ask: (id: string) => Promise<Answer>,
  ids: readonly string[],
) {
  const unknown = randomUUID()
  const first = await ask(unknown)
  let expected = masked(first, unknown)
  for (const id of ids) {
    const answer = await ask(id)
    if (masked(answer, id) !== expected) {
      // The requests themselves can change the answer, for example by reaching a limit. Then it is the same for both.
      const again = randomUUID()
      expected = masked(await ask(again), again)
    }
    await tally.refuse(
      `${what} with ${id}`,
      async () => answer,
      () => masked(answer, id) === expected,
    )
  }
  return first
}

const bodies: object[] = [
  {},
  { name: 'x', first_name: 'x', roles: ['member'], status: 'suspended', comment: 'x', is_active: false },
]

async function idsInPaths(stage: Stage, tally: Tally, { service, routes, callers, b, idsOfB }: Field) {
  // Without the routes whose caller makes the id up.
  const withIds = routes.filter(
    ({ path, scope, action, creates }) =>
      action !== 'public' &&
      !creates &&
      path.replace(scope === 'token' ? '' : '/tenants/:id', '').includes(':'),
  )
  const asking = stage.pick(['owner'], ['owner', 'member'], Object.keys(callers))
  for (const [place, route] of withIds.entries())
    for (const name of asking) {
      const caller = callers[name]!
      const address = (id: string) => {
        const path = route.scope === 'token' ? route.path : route.path.replace(':id', caller.tenantId)
        return addressOf({ path: path.replace(/:\w+/g, id) })
      }
      for (const body of route.method === 'GET' ? [undefined] : bodies) {
        const ask = (id: string) =>
          service.call(route.method, address(id), {
            token: caller.access,
            body,
            headers: { 'x-tenant-id': b.tenantId },
          })
        const first = await compare(
          tally,
          `${name}: ${nameOf(route)}`,
          ask,
          idsFor(stage, idsOfB, route, place),
        )
        if (first.status < 400) tally.find(`${nameOf(route)} answers ${first.status} for an unknown id`)
      }
    }
}

/** In the whole run all ids of B, else those of tables that are named like the route and a share of the others. */
function idsFor(stage: Stage, idsOfB: Map<string, string>, { path }: Route, place: number): string[] {
  const stems = path.split('/').flatMap((part) => (/^[a-z]{4}/.test(part) ? [part.slice(0, 5)] : []))
  const share = stage.pick(40, 12, 1)
  return [...idsOfB.keys()].filter(
    (id, n) => (n + place) % share === 0 || stems.some((stem) => idsOfB.get(id)!.includes(stem)),
  )
}

let made = 0
const unique = () => `unique-${++made}`

/** What routes need beside the attacked member, so that the answer is about the id. */
const base: Record<string, () => object> = {
  'POST /api/v1/tenants/:id/departments': () => ({ name: unique() }),
  'POST /api/v1/tenants/:id/invitations': () => ({ email: `${unique()}@example.com` }),
  'POST /api/v1/service-accounts': () => ({ name: unique() }),
  'POST /api/v1/policies': () => ({ name: unique(), effect: 'deny', actions: ['document:read'] }),
}

/** Members of bodies and queries that hold ids of the service, and those that services like this one are known to honour by mistake. */
const holdsId = /((?<!^external)_id|_ids|^role|roles|department|parent|manager|subject|resource_id|^id)$/
const strayNames = ['tenant_id', 'tenant', 'user_id', 'org_id']
const strayHeaders = [
  'x-tenant-id',
  'x-tenant',
  'tenant-id',
  'x-org-id',
  'x-forwarded-tenant',
  'x-original-url',
]

async function idsInBodiesAndQueries(
  stage: Stage,
  tally: Tally,
  { service, routes, owner, b, idsOfB }: Field,
) {
  const objects = await ownObjects(owner, routes)
  const share = stage.pick(200, 40, 4)
  const ids = [b.tenantId, ...[...idsOfB.keys()].filter((id, n) => n % share === 1 && id !== b.userId)]
  const open = routes.filter(
    ({ access, path }) => access === 'token' && !/logout|switch|\/me\/$|otp|passkeys/.test(path),
  )
  for (const route of open.filter((route) => !isLast(route))) {
    const path = ownAddress(route, owner, objects)
    const send = (body: unknown, query = '', headers: Record<string, string> = {}) =>
      service.call(route.method, `${path}${query}`, {
        token: owner.access,
        headers,
        body: route.method === 'GET' ? undefined : body,
      })
    const known = Object.keys(membersOf(route.method === 'GET' ? route.query : route.body))
    const stray = stage.pick(strayNames.slice(0, 1), strayNames, strayNames)
    const names = [...known.filter((name) => holdsId.test(name)), ...stray].filter(isAboutTenants(route))
    if (route.method === 'DELETE') continue // has no body
    for (const name of names) {
      if (route.method === 'GET')
        await compare(tally, `${nameOf(route)}?${name}`, (id) => send(null, `?${name}=${id}`), ids)
      else
        for (const wrap of stage.pick(wraps.slice(0, 1), wraps, wraps))
          await compare(
            tally,
            `${nameOf(route)} {${name}}`,
            (id) => send({ ...base[nameOf(route)]?.(), [name]: wrap(id) }),
            ids,
          )
    }
    if (route.method === 'GET')
      for (const header of stage.pick(strayHeaders.slice(0, 1), strayHeaders, strayHeaders))
        await compare(tally, `${nameOf(route)} ${header}`, (id) => send(null, '', { [header]: id }), [
          b.tenantId,
        ])
  }
}

const wraps = [(id: string): unknown => id, (id: string): unknown => [id]]

/**
 * Adding a person by user id is meant to work for people of other tenants. The decision log holds the caller's own
 * requests, also those about ids of other tenants that this attack tried before.
 */
const isAboutTenants =
  ({ path }: Route) =>
  (name: string) =>
    !(name === 'user_id' && /\/members$/.test(path)) && !(name === 'resource_id' && /\/decisions$/.test(path))

/** Changes the tenant so that the next requests would be refused for another reason. */
const isLast = ({ method, path }: Route) =>
  (/^\/api\/v1\/tenants\/:id(\/(suspend|archive))?$/.test(path) && method !== 'GET') ||
  /\/(me|users\/:id)$/.test(path)

async function switchesAndLogins(tally: Tally, { service, owner, idsOfB }: Field) {
  const { email, password } = owner
  const isRefused = ({ status, body }: Answer) => status === 403 && body.code === 'no_active_membership'
  const login = (tenant_id: unknown) =>
    service.call('POST', '/api/v1/auth/login/', { body: { email, password, tenant_id } })
  const switching = (tenant_id: unknown) => owner.post('/api/v1/auth/switch-tenant/', { tenant_id })
  for (const id of [...idsOfB.keys()].slice(0, 20)) {
    await tally.refuse(`switch to ${id}`, () => switching(id), isRefused)
    await tally.refuse(`log in to ${id}`, () => login(id), isRefused)
  }
  for (const id of ['', null, 0, {}, [], 'x', [owner.tenantId], { id: owner.tenantId }]) {
    await tally.refuse(`switch to ${JSON.stringify(id)}`, () => switching(id), [400])
    await tally.refuse(`log in to ${JSON.stringify(id)}`, () => login(id), [400])
  }
}

async function lists(tally: Tally, { owner, routes, idsOfB }: Field) {
  const all = routes.filter(
    ({ method, path, action }) =>
      method === 'GET' && !/(?<!tenants\/):\w+|:id$/.test(path) && action !== 'public',
  )
  for (const route of all)
    for (const query of ['', `?search=`, '?page_size=100', '?search=x']) {
      const path = addressOf(route, owner.tenantId)
      await tally.refuse(
        `${nameOf(route)}${query}`,
        () => owner.get(`${path}${query}`),
        ({ status, body }) => {
          const text = JSON.stringify(body)
          return (status === 200 || query !== '') && ![...idsOfB.keys()].some((id) => text.includes(id))
        },
      )
    }
}
