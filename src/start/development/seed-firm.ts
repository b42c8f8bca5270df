import { withConnection } from '../../database/executor/with-connection.ts'

// The firm that screenshots show. People and addresses are invented; their domains are reserved (RFC 2606).

type Json = Record<string, unknown> | null
// biome-ignore lint/suspicious/noExplicitAny: answers of the API
type Answer = any

/** Calls the API at `url` as the bearer of `token`. Throws if it refuses. */
export async function call(
  url: string,
  method: string,
  path: string,
  body: Json = null,
  token = '',
): Promise<Answer> {
  const answer = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok && ![202, 403].includes(answer.status)) throw new Error(`${method} ${path}: ${text}`)
  return text ? JSON.parse(text) : null
}

const people = [
  ['Mira', 'Okafor', 'admin', 'Engineering', 61],
  ['Jonas', 'Lindqvist', 'member', 'Engineering', 44],
  ['Sofía', 'Marín', 'billing', 'Finance', 30],
  ['Wei', 'Zhang', 'member', 'Platform', 23],
  ['Amara', 'Diallo', 'auditor', 'Finance', 12],
  ['Tomás', 'Novák', 'support', 'Operations', 5],
  ['Priya', 'Raman', 'admin', 'Operations', 4],
  ['Elias', 'Berg', 'member', 'Operations', 3],
  ['Hana', 'Satō', 'member', 'Platform', 1],
  ['Noor', 'Haddad', 'billing', 'Finance', 1],
] as const

const addressOf = (first: string, last: string) =>
  `${first}.${last}@northwind.test`
    .toLowerCase()
    .normalize('NFD')
    .replace(/[^a-z.@]/g, '')

const password = 'a quiet harbour 77'

export type Account = { email: string; password: string }

/** One of the people of the firm. */
export const colleague: Account = { email: addressOf('Amara', 'Diallo'), password }
/** An invitation to a person who is new. */
export const invited = { email: 'robin.castellanos@northwind.test', roles: ['member', 'support'] }

/** Fills the tenant of an admin with a firm, and the last week with what people did. */
export async function seedFirm(url: string, databaseUrl: string, admin: Account): Promise<void> {
  const logIn = async (body: Json) => (await call(url, 'POST', '/auth/login/', body)).access as string
  const token = await logIn(admin)
  const as = (method: string, path: string, body: Json = null) => call(url, method, path, body, token)
  const { current_tenant: tenant } = await as('GET', '/users/me/')
  const own = `/tenants/${tenant.id}`
  const branding = { accent: '#1d4ed8', support_email: 'help@northwind.test' }
  await as('PATCH', `${own}/`, { name: 'Northwind Harbour', settings: { branding } })

  const departments = new Map<string, string>()
  for (const [name, parent] of [['Engineering'], ['Finance'], ['Operations'], ['Platform', 'Engineering']]) {
    const body = { name, parent_id: parent ? departments.get(parent) : null }
    departments.set(name!, (await as('POST', `${own}/departments/`, body)).id)
  }
  const role = (name: string, description: string, permissions: string[]) =>
    as('POST', `${own}/roles/`, { name, description, permissions })
  await role('billing', 'Reads invoices and pays them', ['invoice:read', 'invoice:pay', 'member:list'])
  await role('support', 'Answers customers', ['ticket:read', 'ticket:answer'])
  for (const [first_name, last_name, role, department] of people) {
    const body = { email: addressOf(first_name, last_name), password, first_name, last_name }
    const { id } = await call(url, 'POST', '/auth/register/', body)
    const department_id = departments.get(department)
    await as('POST', `${own}/members/`, { user_id: id, roles: [role], department_id })
  }
  for (const [name, role] of [
    ['lena.fischer', 'member'],
    ['omar.reyes', 'support'],
    ['grace.liu', 'admin'],
  ])
    await as('POST', `${own}/invitations/`, { email: `${name}@northwind.test`, roles: [role] })

  await as('POST', '/policies/', {
    name: 'Removing members needs a second pair of eyes',
    effect: 'require_approval',
    actions: ['member:delete', 'role:delete'],
    approval: { quorum: 1, approver: { roles: ['owner', 'admin'] } },
  })
  await as('POST', '/policies/', {
    name: 'No invitations at night',
    effect: 'deny',
    actions: ['invitation:create'],
    subjects: { roles: ['support'] },
    conditions: { attribute: 'environment.hour', operator: 'gte', value: 20 },
  })
  await as('POST', '/webhooks/', {
    url: 'https://erp.northwind.example/hooks/people',
    description: 'Keeps the payroll in step',
    event_types: ['identity.*', 'tenant.member_added', 'tenant.member_removed'],
  })
  const register = (body: Json) => as('POST', '/oauth-clients/', body)
  await register({
    name: 'Tide tables',
    kind: 'spa',
    redirect_uris: ['https://tides.northwind.example/'],
    is_active: false,
  })
  const redirect_uris = ['https://grafana.northwind.example/login/generic_oauth']
  const grafana = await register({ name: 'Grafana', redirect_uris, first_party: true })
  await as('POST', `/oauth-clients/${grafana.id}/secrets/`)
  await register({ name: 'Berth planner', redirect_uris: ['https://berths.northwind.example/callback'] })

  const mira = await logIn({ email: addressOf('Mira', 'Okafor'), password, tenant_id: tenant.id })
  const elias = (await as('GET', `${own}/members/?search=elias`)).results[0]
  await as('PATCH', `${own}/members/${elias.id}/`, { status: 'suspended' })
  await call(url, 'DELETE', `${own}/members/${elias.id}/`, null, mira)
  const jonas = await logIn({ email: addressOf('Jonas', 'Lindqvist'), password, tenant_id: tenant.id })
  await call(url, 'POST', '/webhooks/', { url: 'https://example.com/' }, jonas)
  await spreadOverDays(databaseUrl, tenant.id)
}

/** The service records what happens now. Charts of a week need days before: they get copies, and people joined earlier. */
const spreadOverDays = (databaseUrl: string, tenantId: string): Promise<void> =>
  withConnection(databaseUrl, 'bailiwick-seed', async (client) => {
    for (const [first, last, , , days] of people)
      await client.query(
        `update memberships set joined_at = joined_at - $3::int * interval '1 day' where tenant_id = $1 and email = $2`,
        [tenantId, addressOf(first, last), days],
      )
    const week = [17, 22, 9, 4, 25, 31]
    for (const [n, count] of week.entries()) {
      const [ago, some] = [`-${week.length - n} days`, Math.ceil(count / 7)]
      await client.query(
        `insert into events (tenant_id, id, type, subject, data, actor_id, request_id, occurred_at)
         select e.tenant_id, uuidv7($2::interval), k.type, e.subject, e.data, e.actor_id, 'seed', now() + $2::interval
         from (select * from events where tenant_id = $1 and type = 'identity.login_succeeded' limit 1) e,
           lateral (select 'identity.login_succeeded' as type from generate_series(1, $3::int)
                    union all select 'identity.login_failed' from generate_series(1, $4::int)) k`,
        [tenantId, ago, count, some],
      )
      await client.query(
        `insert into decisions select (jsonb_populate_record(null::decisions, to_jsonb(d) || jsonb_build_object(
           'id', uuidv7($2::interval), 'at', now() + $2::interval))).*
         from (select * from decisions where tenant_id = $1 and effect = 'deny' limit 1) d, generate_series(1, $3::int)`,
        [tenantId, ago, some + (n % 3)],
      )
    }
  })
