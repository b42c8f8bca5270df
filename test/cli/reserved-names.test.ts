import { join } from 'node:path'
import type pg from 'pg'
import t from 'tap'
import { quotedIn } from '../../src/installation/reserved-names/rename-in.ts'
import { renameResources } from '../../src/installation/reserved-names/rename-resources.ts'
import { createLogger } from '../../src/observe/log.ts'
import { serveApi } from '../../src/start/serve.ts'
import { withClient } from '../helpers/query.ts'
import { cheapHashing, startService } from '../helpers/service.ts'
import { callCli, settingsFor } from './run-cli.ts'

const service = await startService(t, { workers: false })
const env = { ...settingsFor(service.databases), DATABASE_URL: service.databases.superuser }
const cli = (...args: string[]) => callCli(args, { env })

const owner = await service.signUp()
const roles = `/api/v1/tenants/${owner.tenantId}/roles/`
const made = async (path: string, body: object) => {
  const { status, body: answer } = await owner.post(path, body)
  if (status !== 201) throw new Error(JSON.stringify(answer))
  return answer
}
const role = await made(roles, { name: 'Wirer', permissions: ['cable:read', 'cable:*', 'note:read'] })
const key = await made('/api/v1/users/me/keys/', { name: 'Robot', scopes: ['cable:read', 'access:evaluate'] })
const policy = await made('/api/v1/policies/', {
  name: 'No cutting',
  effect: 'deny',
  actions: ['cable:*', 'note:read'],
  resource_types: ['cable'],
  conditions: {
    all: [
      { attribute: 'resource.type', operator: 'in', value: ['cable', 'note'] },
      { attribute: 'action.name', operator: 'eq', value: 'cable:cut' },
      { attribute: 'subject.email', operator: 'ne', value: 'cable' },
    ],
  },
})
t.equal((await owner.put('/api/v1/resources/cable/1/', {})).status, 201)
const wiring = (type: string) =>
  JSON.stringify({
    application: 'wiring',
    name: 'Wiring',
    resource_types: { [type]: { description: 'A socket.', actions: { plug: 'Plug something in.' } } },
    roles: { plugger: { name: 'Plugger', permissions: [`${type}:plug`] } },
  })
const folder = t.testdir({ 'before.json': wiring('socket'), 'after.json': wiring('app_support_access') })
t.equal((await cli('manifest:apply', '--file', join(folder, 'before.json'))).code, 0)

// The previous release let applications choose these names.
await withClient(service.databases.superuser, async (client: pg.Client) => {
  await client.query('begin; set local role bailiwick_owner')
  await renameResources(
    client,
    new Map([
      ['cable', 'installation'],
      ['socket', 'support_access'],
    ]),
  )
  await client.query('commit')
})

t.test('migrate stops where applications use a reserved name, and lists who does', async (t) => {
  const refused = await cli('migrate')
  t.equal(refused.code, 1)
  for (const line of [
    /role "Wirer" +installation:read, installation:\*\n/,
    /role "Plugger" +support_access:plug\n/,
    /key "Robot" +installation:read\n/,
    /policy "No cutting" +installation, installation:cut, installation:\*\n/,
    /resources "installation" +installation\n/,
    /– +manifest "wiring" +support_access:plug, support_access\n/,
    /--rename support_access=app_support_access/,
  ])
    t.match(refused.said, line)
  t.match(await cli('migrate', '--rename', 'installation=cable'), { code: 1, said: /support_access:plug/ })
})

t.test('a new name has the right form, is not taken, and belongs to a reserved one', async (t) => {
  for (const wrong of [
    'cable=x',
    'installation=Cable',
    'installation=member',
    'installation',
    'installation=a,support_access=a',
  ])
    t.match(await cli('migrate', '--rename', wrong), { code: 2, said: /--rename/ }, wrong)
  t.match(await cli('migrate', '--rename', 'installation=note,support_access=socket'), {
    code: 1,
    said: /role "Wirer" +note:read\n[\s\S]*has the new name already/,
  })
})

t.test('migrate --rename changes a name everywhere, and what it permits stays', async (t) => {
  const renamed = await cli(
    'migrate',
    '--rename',
    'installation=app_installation,support_access=app_support_access',
  )
  t.match(renamed, { code: 0, out: /role "Wirer" +installation:read, installation:\*[\s\S]*Up to date/ })
  t.match(await cli('migrate'), { code: 0, out: 'Up to date\n' })

  t.match((await owner.get(`${roles}${role.id}/`)).body.permissions, [
    'app_installation:read',
    'app_installation:*',
    'note:read',
  ])
  t.match((await owner.get('/api/v1/users/me/keys/')).body.results[0], {
    scopes: ['app_installation:read', 'access:evaluate'],
  })
  t.equal((await owner.get('/api/v1/resources/app_installation/1/')).status, 200)
  t.match((await owner.get(`/api/v1/policies/${policy.id}/`)).body, {
    actions: ['app_installation:*', 'note:read'],
    resource_types: ['app_installation'],
    conditions: {
      all: [{ value: ['app_installation', 'note'] }, { value: 'app_installation:cut' }, { value: 'cable' }],
    },
  })
  // Processes of this release start after the migration.
  const other = await serveApi({ ...service.deps.config, PORT: 0 }, createLogger('silent', false), {
    clock: service.now,
    hashing: cheapHashing,
  })
  t.teardown(() => other.stop())
  const may = async (name: string, token = owner.access) => {
    const subject = { type: 'user', id: owner.id }
    const response = await fetch(new URL('/access/v1/evaluation', other.url), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ subject, action: { name }, resource: { type: 'app_installation', id: '1' } }),
    })
    return ((await response.json()) as { decision: boolean }).decision
  }
  t.equal(await may('app_installation:cut'), false, 'the policy decides as before')
  t.equal(await may('app_installation:read'), true)
  t.equal(await may('app_installation:read', key.key), true, 'the key has its scope')
})

t.test(
  'a renamed policy has the checksum of its text, and a renamed manifest is the same again',
  async (t) => {
    const at = `/api/v1/policies/${policy.id}/`
    const { checksum } = (await owner.get(at)).body
    t.match((await owner.patch(at, { change_reason: 'again' })).body, { version: 2, checksum })
    const applied = await cli('manifest:apply', '--file', join(folder, 'after.json'), '--json')
    t.match(applied.json(), { is_new: false, tenants: { changed: 0 } })
    const newcomer = await service.signUp()
    const { body } = await newcomer.get(`/api/v1/tenants/${newcomer.tenantId}/roles/?managed_by=wiring`)
    t.match(body.results, [{ permissions: ['app_support_access:plug'] }])
  },
)

t.test('a module is behind a new name if its text quotes only the old one', async (t) => {
  const module =
    'package policy\n\ndeny contains "No." if input.resource.type in {"directory", `support_access`}\n'
  t.same(quotedIn(module, ['directory', 'support_access', 'installation']), ['directory', 'support_access'])
  t.same(quotedIn('input.action.name == "directory:cut"', ['directory']), ['directory'])
  t.same(quotedIn('input.subject.directory == "a directory"', ['directory']), [])
})
