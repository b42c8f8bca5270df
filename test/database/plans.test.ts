// own process: it explains what the whole process sends, and a shared service has workers of its own
import t from 'tap'
import { crowd } from '../helpers/crowd.ts'
import { withClient } from '../helpers/query.ts'
import { startService } from '../helpers/service.ts'
import { fillTenant } from './full-tenant.ts'
import { type Execution, execute, sentBy } from './sent-statements.ts'

// Every list at size: a tenant with 100,000 of a million members and 10,000 rows in each table that grows, beside 2,000
// other tenants. Every ordering, filter and search of the API's description is asked over HTTP, from the first page and from
// inside the list, forwards and backwards. Postgres then executes each statement again and says what it read.

const big = 100_000
const service = await startService(t, { workers: false })
const ada = await service.signUp()
const tenant = `/api/v1/tenants/${ada.tenantId}`

const created = async (path: string, body: object): Promise<string> => {
  const answer = await ada.post(path, body)
  if (answer.status !== 201)
    throw new Error(`${path} answered ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body.id
}
const department = await created(`${tenant}/departments/`, { name: 'Research' })
await created(`${tenant}/roles/`, { name: 'Reader', permissions: [] })
await created(`${tenant}/invitations/`, { email: 'guest@example.com', roles: ['member'] })
await created('/api/v1/attribute-definitions/', { key: 'level', category: 'subject', data_type: 'integer' })
const policy = await created('/api/v1/policies/', { name: 'Readers', effect: 'deny', actions: ['note:read'] })
const program = await created('/api/v1/service-accounts/', { name: 'Billing' })
const webhook = await created('/api/v1/webhooks/', { url: 'https://hooks.example.com/' })
const application = await created('/api/v1/oauth-clients/', {
  name: 'Shop',
  redirect_uris: ['https://shop.example.com/callback'],
})
const connection = await created('/api/v1/connections/', {
  name: 'Nordwind',
  kind: 'oidc',
  oidc: { issuer: 'https://login.example', client_id: 'bailiwick', client_secret: 'very-secret-indeed' },
})
const people = await crowd(service.databases.superuser, { id: ada.tenantId, size: big, since: service.now() })
await fillTenant(service, ada.tenantId, 10_000)

const someone = people[big / 2]!
/** A value for each parameter that is no word of a list. */
const samples: Record<string, string> = {
  action: 'role:update',
  actor_id: someone,
  after: '50000',
  client_id: application,
  created_at__gte: '2026-01-01T10:00:00Z',
  created_at__lte: '2026-01-01T20:00:00Z',
  department_id: department,
  email: 'guest50@example.com',
  event_type: 'tenant.member_added',
  external_id: 'emp-50',
  manager_id: someone,
  managed_by: 'none',
  parent_id: department,
  requester_id: someone,
  resource_id: someone,
  resource_type: 'note',
  role: 'member',
  search: 'f',
  subject_id: someone,
  target_id: someone,
  user_id: someone,
}

interface Parameter {
  name: string
  in: string
  schema: { enum?: string[]; type?: string; format?: string }
}
const { paths } = (await service.call('GET', '/openapi.json')).body
const lists = Object.entries<{ get?: { parameters?: Parameter[] } }>(paths).flatMap(([path, { get }]) => {
  const parameters = get?.parameters?.filter((parameter) => parameter.in === 'query') ?? []
  // The application's feed needs a token of its own, and reads one table by its key.
  const isList = parameters.some(({ name }) => name === 'page_size') && !path.includes('/application/')
  return isList ? [{ path, parameters }] : []
})

const addressOf = (path: string) =>
  path
    .replace('/tenants/{id}', `/tenants/${ada.tenantId}`)
    .replace('/policies/{id}', `/policies/${policy}`)
    .replace('/webhooks/{id}', `/webhooks/${webhook}`)
    .replace('/service-accounts/{id}', `/service-accounts/${program}`)
    .replace('/connections/{id}', `/connections/${connection}`)
    .replace('/oauth-clients/{id}', `/oauth-clients/${application}`)

const sampleOf = ({ format }: Parameter['schema']) => (format === 'uuid' ? someone : undefined)

function* queriesOf(parameters: Parameter[]): Generator<string> {
  yield ''
  for (const { name, schema } of parameters) {
    if (name === 'page_size' || name === 'cursor') continue
    const words = schema.type === 'boolean' ? ['true', 'false'] : schema.enum
    for (const value of words ?? [samples[name] ?? sampleOf(schema)]) {
      if (value === undefined) throw new Error(`Give a sample of the parameter ${name}`)
      yield `?${name}=${encodeURIComponent(value)}`
    }
  }
}

/** Rows that a page may read, and a count of filtered rows. Twenty entries, and what belongs to each. */
const most = (text: string) => (/\bcount\(/.test(text) ? 3 * big : 2_500)

t.test('every list, filter and search of a large tenant reads a page and sorts no more', async (t) => {
  t.ok(lists.length > 15, `${lists.length} lists`)
  const slowest: (Execution & { asked: string })[] = []
  for (const { path, parameters } of lists)
    for (const query of queriesOf(parameters)) {
      const first = `${addressOf(path)}${query}`
      const pages = [first]
      for (let turn = 0; turn < pages.length && turn < 3; turn++) {
        let next: string | null = null
        const sent = await sentBy(async () => {
          const { status, body } = await ada.get(pages[turn]!)
          t.equal(status, 200, `${path}${query} answers ${JSON.stringify(body?.detail)}`)
          next = turn === 0 ? body.next : turn === 1 ? body.previous : null
        })
        if (next) pages.push(String(next).replace(/^https?:\/\/[^/]+/, ''))
        for (const flush of sent)
          for (const execution of await execute(service.databases, flush)) {
            const asked = `${path}${query}${turn > 0 ? `, page ${turn === 1 ? 2 : '1 from 2'}` : ''}`
            slowest.push({ ...execution, asked })
            if (execution.faults.length > 0 || execution.read > most(execution.text))
              t.fail(`${asked} reads ${execution.read} rows, ${execution.faults}: ${execution.text}`)
          }
      }
    }
  slowest.sort((a, b) => b.ms - a.ms)
  for (const { asked, ms, read, text } of slowest.slice(0, 12))
    t.comment(`${ms.toFixed(1)} ms, ${read} rows: ${asked}: ${text.slice(0, 160)}`)
})

t.test(
  'a person is found by each of their names in a large tenant, as a subject and as a resource',
  async (t) => {
    const { email } = await withClient(service.databases.superuser, async (client) => {
      const { rows } = await client.query('select email from users where id = $1', [someone])
      await client.query('update users set email_verified_at = date_joined where id = any($1)', [people])
      await client.query("update memberships set external_id = 'emp-' || user_id where user_id = any($1)", [
        people,
      ])
      await client.query('analyze users, memberships')
      return rows[0]
    })
    for (const name of [someone, email, `emp-${someone}`])
      for (const resource of ['note', 'user']) {
        const question = {
          subject: { type: 'user', id: name },
          action: { name: resource === 'user' ? 'user:read' : 'note:read' },
          resource: { type: resource, id: name },
        }
        const sent = await sentBy(async () => {
          const { body } = await ada.post('/access/v1/evaluation', question)
          t.equal(body.context?.reasons[0].code, resource === 'user' ? 'role_grant' : 'policy_deny', name)
        })
        for (const flush of sent)
          for (const { faults, read, text } of await execute(service.databases, flush))
            if (faults.length > 0 || read > 100) t.fail(`${name} reads ${read} rows, ${faults}: ${text}`)
      }
  },
)
