import t, { type Test } from 'tap'
import { type ActionName, actions } from '../../src/policy-engine/catalogue/actions.ts'
import { listRoutes } from '../../src/start/app.ts'
import { addGroup } from '../directory/open-directory.ts'
import { colleague } from '../helpers/colleague.ts'
import { numberedEventsOf, openDatabase } from '../helpers/event-log.ts'
import { proveAddress } from '../helpers/prove-address.ts'
import { type Answer, type Client, startService } from '../helpers/service.ts'

// A policy on resource.* depends on the fields that each operation passes. A field that an operation leaves out is
// missing, and with a missing value a deny applies. So each deny is tried with the value of the resource, and with
// another value.

const service = await startService(t, { actors: ['outbox-relay'] })
const policies = '/api/v1/policies/'
const owner = await service.signUp()
const admin = await colleague(service, owner, 'admin')
const member = await colleague(service, owner)
const leaver = await colleague(service, owner)
const newcomer = await service.signUp()
// Policies see a person's address once it is verified.
await proveAddress(service, admin, member, leaver)
const tenant = `/api/v1/tenants/${owner.tenantId}/`

const created = async (path: string, body: object): Promise<string> => {
  const { status, body: made } = await owner.post(path, body)
  if (status !== 201) throw new Error(JSON.stringify(made))
  return made.id
}
const memberId = async ({ id }: Client) =>
  (await owner.get(`${tenant}members/?user_id=${id}`)).body.results[0].id
const rule = (name: string) => ({ name, effect: 'deny', actions: ['doc:read'] })

interface Change {
  action: ActionName
  method: 'post' | 'put' | 'patch' | 'delete'
  path: string
  body?: object
  attribute: string
  /** The value of the resource, and another value. */
  values: [unknown, unknown]
  /** A path whose answer shows whether anything was changed. */
  shows?: string
  by?: Client
  operator?: string
}

const [members, roles] = [`${tenant}members/`, `${tenant}roles/`]
const [departments, invitations] = [`${tenant}departments/`, `${tenant}invitations/`]
const role = `${roles}${await created(roles, { name: 'One' })}/`
const department = `${departments}${await created(departments, { name: 'One' })}/`
const sent = `${invitations}${await created(invitations, { email: 'sent@example.com' })}/`
await created(invitations, { email: 'stays@example.com' })
const policy = `${policies}${await created(policies, rule('One'))}/`
const staff = `${members}${await memberId(member)}/`
const left = `${members}${await memberId(leaver)}/`

// Attributes that are not built in have to be defined.
await created('/api/v1/attribute-definitions/', { key: 'url', category: 'resource', data_type: 'string' })
await created('/api/v1/attribute-definitions/', { key: 'domain', category: 'resource', data_type: 'string' })
// Inactive, so that nothing is delivered to it.
const hook = `/api/v1/webhooks/${await created('/api/v1/webhooks/', { url: 'https://receiver.example/', is_active: false })}/`

const accounts = '/api/v1/service-accounts/'
const account = `${accounts}${await created(accounts, { name: 'One' })}/`
const keys = `${account}keys/`
const key = `${keys}${await created(keys, { name: 'One' })}/`

const clients = '/api/v1/oauth-clients/'
const application = (name: string) => ({ name, kind: 'web', redirect_uris: ['https://app.example/back'] })
const client = `${clients}${await created(clients, application('One'))}/`
const servers = '/api/v1/oauth-resources/'
const serverOf = (name: string) => ({ name, identifier: `https://${name}.example`.toLowerCase() })
const server = `${servers}${await created(servers, serverOf('One'))}/`
const domains = '/api/v1/domains/'
const domain = `${domains}${await created(domains, { domain: 'one.example' })}/`
const connections = '/api/v1/connections/'
const provider = (name: string) => ({
  name,
  kind: 'oidc',
  oidc: { issuer: 'https://login.example', client_id: 'bailiwick', client_secret: 'secret' },
})
const connection = `${connections}${await created(connections, provider('One'))}/`
const directoryRules = '/api/v1/directory/rules/'
const sales = await created(departments, { name: 'Sales' })
const given = { group: await addGroup(service, owner), department_id: sales }
const directoryRule = `${directoryRules}${await created(directoryRules, given)}/`

const named: [unknown, unknown] = ['One', 'Other']
const changes: Change[] = [
  {
    action: 'member:create',
    method: 'post',
    path: members,
    body: { user_id: newcomer.id },
    attribute: 'user_id',
    values: [newcomer.id, owner.id],
  },
  {
    action: 'member:update',
    method: 'put',
    path: staff,
    body: { roles: ['auditor'] },
    attribute: 'roles',
    operator: 'contains',
    values: ['member', 'owner'],
  },
  {
    action: 'member:delete',
    method: 'delete',
    path: left,
    attribute: 'email',
    values: [leaver.email, 'x'],
    shows: members,
  },
  {
    action: 'api_key:create',
    method: 'post',
    path: keys,
    body: { name: 'Two' },
    attribute: 'name',
    values: ['Two', 'x'],
  },
  {
    action: 'api_key:rotate',
    method: 'post',
    path: `${key}rotate/`,
    body: {},
    attribute: 'name',
    values: named,
    shows: keys,
  },
  {
    action: 'api_key:delete',
    method: 'delete',
    path: key,
    attribute: 'name',
    values: named,
    shows: keys,
  },
  {
    action: 'service_account:create',
    method: 'post',
    path: accounts,
    body: { name: 'Two' },
    attribute: 'name',
    values: ['Two', 'x'],
  },
  {
    action: 'service_account:update',
    method: 'patch',
    path: account,
    body: { description: 'x' },
    attribute: 'name',
    values: named,
  },
  {
    action: 'service_account:delete',
    method: 'delete',
    path: account,
    attribute: 'name',
    values: named,
    shows: accounts,
  },
  {
    action: 'role:create',
    method: 'post',
    path: roles,
    body: { name: 'Two' },
    attribute: 'name',
    values: ['Two', 'x'],
  },
  {
    action: 'role:update',
    method: 'patch',
    path: role,
    body: { description: 'x' },
    attribute: 'name',
    values: named,
  },
  {
    action: 'role:delete',
    method: 'delete',
    path: role,
    attribute: 'is_system',
    values: [false, true],
    shows: roles,
  },
  {
    action: 'department:create',
    method: 'post',
    path: departments,
    body: { name: 'Two' },
    attribute: 'name',
    values: ['Two', 'x'],
  },
  {
    action: 'department:update',
    method: 'put',
    path: department,
    body: { description: 'x' },
    attribute: 'name',
    values: named,
  },
  {
    action: 'department:delete',
    method: 'delete',
    path: department,
    attribute: 'name',
    values: named,
    shows: departments,
  },
  {
    action: 'invitation:create',
    method: 'post',
    path: invitations,
    body: { email: 'Guest@example.com' },
    attribute: 'email',
    values: ['guest@example.com', 'x'],
  },
  {
    action: 'invitation:resend',
    method: 'post',
    path: `${sent}resend/`,
    attribute: 'status',
    values: ['pending', 'expired'],
    shows: sent,
  },
  {
    action: 'invitation:cancel',
    method: 'post',
    path: `${sent}cancel/`,
    attribute: 'email',
    values: ['sent@example.com', 'x'],
    shows: sent,
  },
  {
    action: 'oauth_client:create',
    method: 'post',
    path: clients,
    body: application('Two'),
    attribute: 'name',
    values: ['Two', 'x'],
  },
  {
    action: 'oauth_client:update',
    method: 'patch',
    path: client,
    body: { scopes: ['openid'] },
    attribute: 'name',
    values: named,
  },
  {
    action: 'oauth_client:update',
    method: 'post',
    path: `${client}secrets/`,
    attribute: 'name',
    values: named,
    shows: client,
  },
  {
    action: 'oauth_client:delete',
    method: 'delete',
    path: client,
    attribute: 'name',
    values: named,
    shows: clients,
  },
  {
    action: 'oauth_resource:create',
    method: 'post',
    path: servers,
    body: serverOf('Two'),
    attribute: 'name',
    values: ['Two', 'x'],
  },
  {
    action: 'oauth_resource:update',
    method: 'patch',
    path: server,
    body: { scopes: [] },
    attribute: 'name',
    values: named,
  },
  {
    action: 'oauth_resource:delete',
    method: 'delete',
    path: server,
    attribute: 'name',
    values: named,
    shows: servers,
  },
  {
    action: 'connection:create',
    method: 'post',
    path: connections,
    body: provider('Two'),
    attribute: 'name',
    values: ['Two', 'x'],
  },
  {
    action: 'connection:update',
    method: 'patch',
    path: connection,
    body: { jit: 'verified_domains' },
    attribute: 'name',
    values: named,
  },
  {
    action: 'connection:delete',
    method: 'delete',
    path: connection,
    attribute: 'name',
    values: named,
    shows: connections,
  },
  {
    action: 'directory:update',
    method: 'post',
    path: directoryRules,
    body: given,
    attribute: 'department_id',
    values: [sales, 'x'],
  },
  {
    action: 'directory:update',
    method: 'delete',
    path: directoryRule,
    attribute: 'department_id',
    values: [sales, 'x'],
    shows: directoryRules,
  },
  {
    action: 'domain:create',
    method: 'post',
    path: domains,
    body: { domain: 'two.example' },
    attribute: 'domain',
    values: ['two.example', 'x'],
  },
  {
    action: 'domain:update',
    method: 'patch',
    path: domain,
    body: { route: 'never' },
    attribute: 'domain',
    values: ['one.example', 'x'],
  },
  {
    action: 'domain:delete',
    method: 'delete',
    path: domain,
    attribute: 'domain',
    values: ['one.example', 'x'],
    shows: domains,
  },
  {
    action: 'policy:create',
    method: 'post',
    path: policies,
    body: rule('Two'),
    attribute: 'name',
    values: ['Two', 'x'],
    by: admin,
  },
  {
    action: 'policy:update',
    method: 'put',
    path: policy,
    body: { description: 'x' },
    attribute: 'name',
    values: named,
    by: admin,
  },
  {
    action: 'policy:update',
    method: 'post',
    path: `${policy}rollback/`,
    body: { version: 1 },
    attribute: 'name',
    values: named,
    shows: policy,
    by: admin,
  },
  {
    action: 'policy:delete',
    method: 'delete',
    path: policy,
    attribute: 'name',
    values: named,
    shows: policies,
    by: admin,
  },
  {
    action: 'tenant:update',
    method: 'put',
    path: tenant,
    body: { settings: { require_mfa: false, allowed_email_domains: ['example.com'] } },
    attribute: 'status',
    values: ['active', 'suspended'],
  },
  {
    action: 'tenant:update',
    method: 'patch',
    path: tenant,
    body: { name: 'Renamed' },
    attribute: 'id',
    values: [owner.tenantId, 'x'],
  },
  {
    action: 'webhook:create',
    method: 'post',
    path: '/api/v1/webhooks/',
    body: { url: 'https://other.example/' },
    attribute: 'url',
    values: ['https://other.example/', 'x'],
  },
  {
    action: 'webhook:update',
    method: 'patch',
    path: hook,
    body: { description: 'x' },
    attribute: 'url',
    values: ['https://receiver.example/', 'x'],
  },
  {
    action: 'webhook:rotate',
    method: 'post',
    path: `${hook}rotate-secret/`,
    attribute: 'status',
    values: ['disabled', 'active'],
    shows: hook,
  },
  {
    action: 'webhook:test',
    method: 'post',
    path: `${hook}test/`,
    attribute: 'id',
    values: [hook.split('/').at(-2)!, 'x'],
    shows: `${hook}deliveries/`,
  },
  {
    action: 'webhook:delete',
    method: 'delete',
    path: hook,
    attribute: 'status',
    values: ['disabled', 'active'],
    shows: '/api/v1/webhooks/',
  },
]
const moves: Change[] = (['suspend', 'archive', 'activate'] as const).map((move) => ({
  action: `tenant:${move}`,
  method: 'post',
  path: `${tenant}${move}/`,
  attribute: 'name',
  values: ['Renamed', 'x'],
  shows: tenant,
}))
const end: Change = {
  action: 'tenant:delete',
  method: 'delete',
  path: tenant,
  attribute: 'name',
  values: ['Renamed', 'x'],
}

const definition = await created('/api/v1/attribute-definitions/', {
  key: 'clearance',
  category: 'subject',
  data_type: 'integer',
})
/** Each list with a row to hide by its id, and the path of that row if it has one. */
const lists: { action: ActionName; path: string; id?: string; alone?: string }[] = [
  { action: 'user:list', path: '/api/v1/users/', id: member.id },
  { action: 'user:read', path: '', id: member.id, alone: `/api/v1/users/${member.id}/` },
  { action: 'invitation:list', path: invitations, id: sent.split('/').at(-2)!, alone: sent },
  {
    action: 'attribute_definition:list',
    path: '/api/v1/attribute-definitions/?page_size=100',
    id: definition,
    alone: `/api/v1/attribute-definitions/${definition}/`,
  },
  { action: 'decision:list', path: '/api/v1/decisions/?page_size=100' },
  { action: 'audit:list', path: '/api/v1/audit-log/?page_size=100' },
  { action: 'event:list', path: '/api/v1/events/?page_size=100' },
]

/** Runs `work` while a deny is in force for resources with this `value`. */
async function denying(
  { action, attribute, operator = 'eq' }: Pick<Change, 'action' | 'attribute' | 'operator'>,
  value: unknown,
  work: () => Promise<void>,
): Promise<void> {
  const conditions = { attribute: `resource.${attribute}`, operator, value }
  const id = await created(policies, { name: 'Deny', effect: 'deny', actions: [action], conditions })
  await work()
  await owner.delete(`${policies}${id}/`)
}

const call = ({ method, path, body, by = owner }: Change): Promise<Answer> =>
  method === 'delete' ? by.delete(path) : by[method](path, body ?? {})

const denied = { status: 403, body: { code: 'permission_denied', reasons: [{ code: 'policy_deny' }] } }
const title = ({ action, path }: Change) => `${action} ${path.replace(/[0-9a-f-]{36}/g, '…')}`

async function tryChange(t: Test, change: Change): Promise<void> {
  const shown = async () => (await owner.get(change.shows ?? change.path)).body
  await denying(change, change.values[0], async () => {
    const before = await shown()
    t.match(await call(change), denied, title(change))
    t.same(await shown(), before, `${title(change)} changed nothing`)
  })
  await denying(change, change.values[1], async () => {
    const { status, body } = await call(change)
    t.ok(status < 300, `${title(change)} passes with another value: ${JSON.stringify(body)}`)
  })
}

t.test('every action with a route that a policy can gate or grant is tried here', async (t) => {
  const tried = new Set<string>([...changes, ...moves, end, ...lists].map(({ action }) => action))
  const routes = listRoutes(service.deps, { ready: async () => undefined, drain() {} })
  const due = routes.flatMap(({ action }) => (action === 'public' ? [] : [action]))
  const missing = due.filter(
    (action) => (actions[action].gate || actions[action].widen) && !tried.has(action),
  )
  t.same(missing, [])
})

t.test('a row that a deny covers is left out of the list, and refused alone', async (t) => {
  await numberedEventsOf(await openDatabase(t, service), owner.tenantId)
  for (const { action, path, id: given, alone } of lists) {
    const rows = async () => (await owner.get(path)).body.results.map(({ id }: { id: string }) => id)
    const id = given ?? (await rows())[0]
    await denying({ action, attribute: 'id' }, id, async () => {
      if (path) {
        const left = await rows()
        t.notOk(left.includes(id), action)
        t.ok(left.length > 0, `the other rows of ${action} stay`)
      }
      if (alone) t.match(await owner.get(alone), denied, action)
    })
    await denying({ action, attribute: 'id' }, 'x', async () => {
      if (path) t.ok((await rows()).includes(id), action)
      if (alone) t.equal((await owner.get(alone)).status, 200, action)
    })
  }
})

t.test('a change that a deny covers is refused, and passes with another value', async (t) => {
  for (const change of changes) await tryChange(t, change)
})

t.test('changes of the status of a tenant, and its deletion, are refused too', async (t) => {
  for (const change of moves) {
    await tryChange(t, change)
    t.equal((await owner.post(`${tenant}activate/`)).status, 200)
  }
  await tryChange(t, end)
})
