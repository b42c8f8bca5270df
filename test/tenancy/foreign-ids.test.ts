import { createHash, randomUUID } from 'node:crypto'
import t from 'tap'
import type { Answer, Call } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { expect, type Firm, foundFirm, look, type Staff } from './staff.ts'

// A request that names an object of another tenant, in the path, the body, the query or a header, gets the same answer
// as for an unknown id, byte for byte, and changes nothing in the other tenant.

const service = await sharedService(t, { workers: false })

interface Contents {
  firm: Firm
  clerk: Staff
  tenant: string
  member: string
  role: string
  department: string
}

async function furnish(): Promise<Contents> {
  const firm = await foundFirm(service)
  const { owner, path } = firm
  const clerk = await firm.hire('member')
  const role = await expect(
    201,
    owner.post(`${path}/roles/`, { name: 'Own', permissions: ['document:read'] }),
  )
  const department = await expect(201, owner.post(`${path}/departments/`, { name: 'Own' }))
  return { firm, clerk, tenant: firm.id, member: clerk.memberId, role: role.id, department: department.id }
}

const a = await furnish()
const b = await furnish()
const admin = await a.firm.hire('admin')
const reader = await a.firm.hire(await a.firm.role('tenant:read'))
const askers = { owner: a.firm.owner, admin, member: a.clerk, custom: reader }

/** One digest of all rows of a tenant. */
async function digest(tenantId: string): Promise<string> {
  const hash = createHash('sha256')
  for (const table of [
    'memberships',
    'membership_roles',
    'roles',
    'departments',
    'events',
    'mails',
    'outbox',
    'row_counts',
  ])
    for (const { row } of await look(
      service,
      `select t::text as row from ${table} t where tenant_id = $1 order by 1`,
      [tenantId],
    ))
      hash.update(row)
  for (const { row } of await look(service, 'select t::text as row from tenants t where id = $1', [tenantId]))
    hash.update(row)
  return hash.digest('hex')
}

const headersKept = ['content-type', 'cache-control', 'etag', 'www-authenticate', 'allow', 'content-length']

/** An answer without the parts that differ for every request, and with the requested id replaced by a fixed one. */
function masked({ status, headers, body }: Answer, asked: string): string {
  const kept = headersKept.map((name) => [name, headers.get(name)])
  const text = JSON.stringify({ status, kept, body })
  return text
    .replaceAll(asked, '<id>')
    .replace(/"(instance|decision_id)":"[^"]*"/g, '"$1":"<request>"')
    .replace(/cursor=[^"&]*/g, 'cursor=<cursor>')
}

type Attempt = (id: string) => {
  method: string
  path: string
  body?: object
  headers?: Record<string, string>
}
const path = a.firm.path
const attempts: [keyof Contents, string, Attempt][] = []
const add = (kind: keyof Contents, place: string, attempt: Attempt) => attempts.push([kind, place, attempt])

for (const [kind, collection] of [
  ['member', 'members'],
  ['role', 'roles'],
  ['department', 'departments'],
] as const)
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'])
    add(kind, 'path', (id) => ({
      method,
      path: `${path}/${collection}/${id}/`,
      ...(method.startsWith('P') && { body: {} }),
    }))
for (const rest of [
  '',
  'members/',
  'roles/',
  'departments/',
  `members/${b.member}/`,
  `roles/${b.role}/`,
  `departments/${b.department}/`,
])
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
    add('tenant', 'path', (id) => ({
      method,
      path: `/api/v1/tenants/${id}/${rest}`,
      ...(method.startsWith('P') && { body: { name: 'Taken' } }),
    }))
for (const move of ['suspend', 'activate', 'archive'])
  add('tenant', 'path', (id) => ({ method: 'POST', path: `/api/v1/tenants/${id}/${move}/` }))
add('tenant', 'body', (id) => ({
  method: 'POST',
  path: '/api/v1/auth/switch-tenant/',
  body: { tenant_id: id },
}))

const stranger = await service.register()
for (const field of ['roles', 'role']) {
  const value = (id: string) => ({ [field]: field === 'role' ? id : ['member', id] })
  add('role', 'body', (id) => ({ method: 'PUT', path: `${path}/members/${a.member}/`, body: value(id) }))
  add('role', 'body', (id) => ({
    method: 'POST',
    path: `${path}/members/`,
    body: { user_id: stranger.id, ...value(id) },
  }))
}
add('department', 'body', (id) => ({
  method: 'PUT',
  path: `${path}/members/${a.member}/`,
  body: { department_id: id },
}))
add('department', 'body', (id) => ({
  method: 'POST',
  path: `${path}/members/`,
  body: { user_id: stranger.id, department_id: id },
}))
add('department', 'body', (id) => ({
  method: 'POST',
  path: `${path}/departments/`,
  body: { name: 'x', parent_id: id },
}))
add('department', 'body', (id) => ({
  method: 'PUT',
  path: `${path}/departments/${a.department}/`,
  body: { parent_id: id },
}))
add('member', 'body', (id) => ({ method: 'POST', path: `${path}/members/`, body: { user_id: id } }))

add('department', 'query', (id) => ({ method: 'GET', path: `${path}/members/?department_id=${id}` }))
add('department', 'query', (id) => ({ method: 'GET', path: `${path}/departments/?parent_id=${id}` }))
add('role', 'query', (id) => ({ method: 'GET', path: `${path}/members/?role=${id}` }))
add('tenant', 'query', (id) => ({ method: 'GET', path: `${path}/members/?tenant_id=${id}` }))
for (const header of ['X-Tenant-Id', 'X-Tenant', 'Tenant-Id', 'X-Org-Id'])
  for (const rest of ['members/', 'roles/', `members/${b.member}/`, `roles/${b.role}/`])
    add('tenant', 'header', (id) => ({ method: 'GET', path: `${path}/${rest}`, headers: { [header]: id } }))
add('tenant', 'header', (id) => ({
  method: 'DELETE',
  path: `${path}/members/${b.member}/`,
  headers: { 'X-Tenant-Id': id },
}))

t.test(
  'a foreign id and an unknown id get the same answer, and the other tenant does not change',
  async (t) => {
    const before = await digest(b.tenant)
    let made = 0
    for (const [kind, place, attempt] of attempts)
      for (const [name, asker] of Object.entries(askers)) {
        const send = (id: string) => {
          const { method, path, ...call } = attempt(id)
          return service.call(method, path, { token: asker.access, ...call } as Call)
        }
        const [foreign, unknown] = [String(b[kind]), randomUUID()]
        const [known, random] = [masked(await send(foreign), foreign), masked(await send(unknown), unknown)]
        const { method, path } = attempt('<id>')
        t.equal(known, random, `${name}: ${method} ${path} (${place})`)
        made += 2
      }
    t.equal(await digest(b.tenant), before, 'the other tenant did not change')
    t.comment(`${made} attempts`)
  },
)

t.test('a malformed id is unknown in a path, and an invalid field in a body', async (t) => {
  const { owner } = a.firm
  for (const id of ['x', '0', `${a.role}x`, `${a.role}%00`, '..%2f..', encodeURIComponent("' or 1=1 --")])
    for (const place of [
      `/api/v1/tenants/${id}/`,
      `${path}/members/${id}/`,
      `${path}/roles/${id}/`,
      `${path}/departments/${id}/`,
    ])
      t.equal((await owner.get(place)).status, 404, place)
  t.equal(
    (
      await owner.get(
        `${path.toUpperCase().replace('/API/V1/TENANTS', '/api/v1/tenants')}/roles/${a.role.toUpperCase()}/`,
      )
    ).status,
    200,
  )
})

t.test('the error for a member without a token of this tenant says how to get one', async (t) => {
  const { owner } = a.firm
  const { id } = await expect(201, owner.post('/api/v1/tenants/', { name: 'Third' }))
  const mismatch = { status: 403, body: { code: 'tenant_mismatch', detail: /switch-tenant/ } }
  for (const rest of ['members/', 'roles/', 'departments/', `members/${randomUUID()}/`])
    t.match(await owner.get(`/api/v1/tenants/${id}/${rest}`), mismatch)
  t.equal((await owner.get(`/api/v1/tenants/${id}/`)).status, 200)
})
