import t from 'tap'
import { type ActionName, actions } from '../../../src/policy-engine/catalogue/actions.ts'
import { listRoutes } from '../../../src/start/app.ts'
import { addGroup } from '../../directory/open-directory.ts'
import { colleague } from '../../helpers/colleague.ts'
import type { Answer, Client } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { approvals, approve, policies } from './office.ts'

// Each gated operation uses up its approval in the transaction of its effect. A write in another transaction shows here,
// because then the transaction that uses up the approval contains no other write.

const service = await sharedService(t, { workers: false })
const owner = await service.signUp()
const approver = await colleague(service, owner, 'admin')
const tenant = `/api/v1/tenants/${owner.tenantId}/`

interface Try {
  action: ActionName
  method: 'post' | 'put' | 'patch' | 'delete'
  path: string
  body?: object
}

const created = async (path: string, body: object): Promise<{ id: string }> => {
  const { status, body: made } = await owner.post(path, body)
  if (status !== 201) throw new Error(JSON.stringify(made))
  return made
}

const newcomer = await service.signUp()
const member = await colleague(service, owner)
const leaver = await colleague(service, owner)
const idOf = async ({ id }: Client) => (await owner.get(`${tenant}members/?user_id=${id}`)).body.results[0].id
const roles = [
  await created(`${tenant}roles/`, { name: 'One' }),
  await created(`${tenant}roles/`, { name: 'Two' }),
]
const departments = [
  await created(`${tenant}departments/`, { name: 'One' }),
  await created(`${tenant}departments/`, { name: 'Two' }),
]
const accounts = '/api/v1/service-accounts/'
const programs = [await created(accounts, { name: 'One' }), await created(accounts, { name: 'Two' })]
const keys = '/api/v1/users/me/keys/'
const owned = [await created(keys, { name: 'One' }), await created(keys, { name: 'Two' })]
const rule = { name: 'Rule', effect: 'deny', actions: ['doc:read'] }
const rules = [await created(policies, rule), await created(policies, rule)]

const clients = '/api/v1/oauth-clients/'
const application = (name: string) => ({ name, kind: 'web', redirect_uris: ['https://app.example/back'] })
const applications = [await created(clients, application('One')), await created(clients, application('Two'))]
const servers = '/api/v1/oauth-resources/'
const server = (name: string) => ({ name, identifier: `https://${name}.example`.toLowerCase() })
const apis = [await created(servers, server('One')), await created(servers, server('Two'))]
const domains = '/api/v1/domains/'
const claims = [
  await created(domains, { domain: 'one.example' }),
  await created(domains, { domain: 'two.example' }),
]
const connections = '/api/v1/connections/'
const provider = (name: string) => ({
  name,
  kind: 'oidc',
  oidc: { issuer: 'https://login.example', client_id: 'bailiwick', client_secret: 'secret' },
})
const providers = [await created(connections, provider('One')), await created(connections, provider('Two'))]
const directoryRules = '/api/v1/directory/rules/'
const given = { group: await addGroup(service, owner), roles: ['member'] }
const directoryRule = await created(directoryRules, given)

const hook = await created('/api/v1/webhooks/', { url: 'https://receiver.example/' })

const tries: Try[] = [
  { action: 'member:create', method: 'post', path: `${tenant}members/`, body: { user_id: newcomer.id } },
  {
    action: 'member:update',
    method: 'put',
    path: `${tenant}members/${await idOf(member)}/`,
    body: { roles: ['auditor'] },
  },
  { action: 'member:delete', method: 'delete', path: `${tenant}members/${await idOf(leaver)}/` },
  { action: 'service_account:create', method: 'post', path: accounts, body: { name: 'Three' } },
  {
    action: 'service_account:update',
    method: 'patch',
    path: `${accounts}${programs[0]!.id}/`,
    body: { name: 'Uno' },
  },
  { action: 'api_key:create', method: 'post', path: keys, body: { name: 'Three' } },
  { action: 'api_key:rotate', method: 'post', path: `${keys}${owned[0]!.id}/rotate/`, body: { overlap: 60 } },
  { action: 'api_key:delete', method: 'delete', path: `${keys}${owned[1]!.id}/` },
  { action: 'service_account:delete', method: 'delete', path: `${accounts}${programs[1]!.id}/` },
  { action: 'role:create', method: 'post', path: `${tenant}roles/`, body: { name: 'Three' } },
  { action: 'role:update', method: 'put', path: `${tenant}roles/${roles[0]!.id}/`, body: { name: 'Uno' } },
  { action: 'role:delete', method: 'delete', path: `${tenant}roles/${roles[1]!.id}/` },
  { action: 'department:create', method: 'post', path: `${tenant}departments/`, body: { name: 'Three' } },
  {
    action: 'department:update',
    method: 'put',
    path: `${tenant}departments/${departments[0]!.id}/`,
    body: { name: 'Uno' },
  },
  { action: 'department:delete', method: 'delete', path: `${tenant}departments/${departments[1]!.id}/` },
  {
    action: 'invitation:create',
    method: 'post',
    path: `${tenant}invitations/`,
    body: { email: 'guest@example.com' },
  },
  { action: 'oauth_client:create', method: 'post', path: clients, body: application('Three') },
  {
    action: 'oauth_client:update',
    method: 'patch',
    path: `${clients}${applications[0]!.id}/`,
    body: { name: 'Uno' },
  },
  { action: 'oauth_client:delete', method: 'delete', path: `${clients}${applications[1]!.id}/` },
  { action: 'oauth_resource:create', method: 'post', path: servers, body: server('Three') },
  {
    action: 'oauth_resource:update',
    method: 'patch',
    path: `${servers}${apis[0]!.id}/`,
    body: { name: 'Uno' },
  },
  { action: 'oauth_resource:delete', method: 'delete', path: `${servers}${apis[1]!.id}/` },
  { action: 'connection:create', method: 'post', path: connections, body: provider('Three') },
  {
    action: 'connection:update',
    method: 'patch',
    path: `${connections}${providers[0]!.id}/`,
    body: { name: 'Uno' },
  },
  { action: 'connection:delete', method: 'delete', path: `${connections}${providers[1]!.id}/` },
  { action: 'directory:update', method: 'delete', path: `${directoryRules}${directoryRule.id}/` },
  { action: 'domain:create', method: 'post', path: domains, body: { domain: 'three.example' } },
  {
    action: 'domain:update',
    method: 'patch',
    path: `${domains}${claims[0]!.id}/`,
    body: { route: 'never' },
  },
  { action: 'domain:delete', method: 'delete', path: `${domains}${claims[1]!.id}/` },
  { action: 'policy:create', method: 'post', path: policies, body: rule },
  {
    action: 'policy:update',
    method: 'put',
    path: `${policies}${rules[0]!.id}/`,
    body: { name: 'Other rule' },
  },
  {
    action: 'policy:update',
    method: 'post',
    path: `${policies}${rules[0]!.id}/rollback/`,
    body: { version: 1 },
  },
  { action: 'policy:delete', method: 'delete', path: `${policies}${rules[1]!.id}/` },
  { action: 'tenant:update', method: 'put', path: tenant, body: { name: 'Renamed' } },
  {
    action: 'webhook:create',
    method: 'post',
    path: '/api/v1/webhooks/',
    body: { url: 'https://other.example/hooks/secret-path?key=secret' },
  },
  {
    action: 'webhook:update',
    method: 'put',
    path: `/api/v1/webhooks/${hook.id}/`,
    body: { is_active: false },
  },
]
const last: Try[] = [
  { action: 'tenant:suspend', method: 'post', path: `${tenant}suspend/` },
  { action: 'tenant:archive', method: 'post', path: `${tenant}archive/` },
  { action: 'tenant:delete', method: 'delete', path: tenant },
]

const call = ({ method, path, body }: Try, headers: Record<string, string> = {}): Promise<Answer> =>
  method === 'delete' ? owner.delete(path, { headers }) : owner[method](path, body ?? {}, { headers })

const wildcards = [...new Set([...tries, ...last].map(({ action }) => `${action.split(':')[0]}:*`))]
const { body: gate } = await owner.post(policies, {
  name: 'Everything',
  effect: 'require_approval',
  actions: wildcards,
})

const approved = async (one: Try): Promise<string> => {
  const refused = await call(one)
  t.match(refused, { status: 403, body: { code: 'approval_required' } }, `${one.action} ${one.path}`)
  const { id } = refused.body.approval_request
  t.equal((await approve(approver, id)).status, 200)
  return id
}

t.test('every action with a route that can need an approval is tried here', async (t) => {
  const routes = listRoutes(service.deps, { ready: async () => undefined, drain() {} })
  const gated = routes.flatMap(({ action }) => (action !== 'public' && actions[action].gate ? [action] : []))
  const tried = new Set([...tries, ...last].map(({ action }) => action))
  t.same(
    [...new Set(gated)].filter((action) => !tried.has(action)),
    [],
  )
})

t.test('each gated operation happens once, and uses up the approval', async (t) => {
  for (const one of tries) {
    const id = await approved(one)
    const headers = { 'approval-request': id }
    const done = await call(one, headers)
    t.ok(done.status < 300, `${one.action}: ${done.status} ${JSON.stringify(done.body)}`)
    const { body } = await owner.get(`${approvals}${id}/`)
    t.match(body, { status: 'executed', action: one.action }, one.action)
    if (one.action === 'webhook:create')
      t.equal(body.context.body.url, 'https://other.example', 'its origin only')
    t.notMatch(JSON.stringify(body), 'secret-path', one.action)
    const { status, body: again } = await call(one, headers)
    t.ok(status === 404 || again.code === 'approval_invalid', `${one.action} again: ${status}`)
  }
})

t.test(
  'changing the status of a tenant, and deleting it, needs an approval in the tenant of the path',
  async (t) => {
    for (const one of last) {
      const id = await approved(one)
      const headers = { 'approval-request': id }
      t.ok((await call(one, headers)).status < 300, one.action)
      if (one.action === 'tenant:delete') break
      t.equal((await owner.post(`${tenant}activate/`)).status, 200, 'activating it never needs an approval')
      const { body } = await owner.get(`${approvals}${id}/`)
      t.match(body, { status: 'executed', resource_type: 'tenant', resource_id: owner.tenantId })
    }
    t.ok(gate.id)
  },
)
