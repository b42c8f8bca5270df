import * as oidc from 'openid-client'
import t from 'tap'
import { startService } from '../helpers/service.ts'
import { openMachine } from '../oauth/relying-party.ts'
import { expect } from '../tenancy/staff.ts'
import { openDirectory, scimError } from './open-directory.ts'

const service = await startService(t, {
  workers: false,
  env: { RATE_LIMIT_ENABLED: 'true', RATE_LIMIT_SCIM_PER_TENANT: '40', RATE_LIMIT_REGISTER_PER_HOUR: '1000' },
})

t.test('a directory reads what the service supports', async (t) => {
  const directory = await openDirectory(service, await service.signUp())
  const config = await directory.get('/ServiceProviderConfig')
  t.match(config, {
    status: 200,
    body: {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
      patch: { supported: true },
      bulk: { supported: false },
      meta: { resourceType: 'ServiceProviderConfig' },
    },
  })
  t.equal(config.headers.get('content-type'), 'application/scim+json; charset=utf-8')
  t.match(await directory.get('/ResourceTypes'), {
    body: { totalResults: 2, Resources: [{ name: 'User', endpoint: '/Users' }, { name: 'Group' }] },
  })
  t.match(await directory.get('/ResourceTypes/User'), { body: { id: 'User' } })
  const { body: schemas } = await directory.get('/Schemas')
  t.equal(schemas.totalResults, 3)
  for (const { id } of schemas.Resources)
    t.match(await directory.get(`/Schemas/${id}`), { status: 200, body: { id, attributes: [{}] } })
  t.match(await directory.get('/Schemas/urn:none'), scimError(404))
})

t.test('every refusal has the form of SCIM', async (t) => {
  const owner = await service.signUp()
  const directory = await openDirectory(service, owner)
  t.match(await service.call('GET', '/scim/v2/Schemas'), scimError(401))
  t.match(await directory.get('/Nothing'), scimError(404))
  t.match(await service.call('GET', '/scim'), scimError(404))
  const wrong = await directory.call('DELETE', '/Schemas')
  t.match(wrong, scimError(405))
  t.match(wrong.headers.get('allow'), /GET/)
})

t.test('requests are in the log of their tenant, without addresses and queries', async (t) => {
  const owner = await service.signUp()
  const directory = await openDirectory(service, owner)
  const log = '/api/v1/directory/log/'
  const { headers } = await directory.get('/Users?filter=userName%20eq%20%22zoe@crew.example%22')
  await directory.get('/Users/zoe@crew.example')
  await directory.post('/Groups', { displayName: 'Crew', members: [{ value: 'zoe@crew.example' }] })
  for (let i = 0; i < 3; i++) await service.call('GET', '/scim/v2/Schemas', { token: owner.access })
  const path = '/scim/v2/Users'
  let shown = await owner.get(log)
  while (shown.body.results.length < 4) shown = await owner.get(log)
  t.match(shown.body, {
    next: null,
    results: [
      { method: 'GET', path: '/scim/v2/Schemas', status: 403, detail: /API key/ },
      { method: 'POST', path: '/scim/v2/Groups', status: 400, detail: '…@… is no id of a User.' },
      { method: 'GET', path: `${path}/…@…`, status: 404, detail: String },
      { method: 'GET', path, status: 200, detail: null, at: String, request_id: headers.get('x-request-id') },
    ],
  })
  t.match((await owner.get(`${log}?failed=false`)).body.results, [{ status: 200 }])
  t.notMatch(JSON.stringify(shown.body), /zoe|crew/i)
  t.match((await (await service.signUp()).get(log)).body.results, [], 'of this tenant only')
})

t.test('only service accounts with scim:provision are directories, and owners alone give it', async (t) => {
  const owner = await service.signUp()
  const refused = scimError(403)
  t.match(await service.call('GET', '/scim/v2/Schemas', { token: owner.access }), refused)
  const mine = await expect(201, owner.post('/api/v1/users/me/keys/', { name: 'Mine' }))
  t.match(await service.call('GET', '/scim/v2/Schemas', { token: mine.key }), refused)
  const machine = await openMachine(service, owner, { roles: ['auditor'], scopes: ['member:list'] })
  const { access_token: token } = await oidc.clientCredentialsGrant(machine.config)
  t.match(await service.call('GET', '/scim/v2/Schemas', { token }), refused)

  const { account } = await openDirectory(service, owner)
  const [role] = account.roles
  const able = await openMachine(service, owner, { roles: [role], scopes: ['scim:provision'] })
  const given = await oidc.clientCredentialsGrant(able.config)
  t.equal((await service.call('GET', '/scim/v2/Schemas', { token: given.access_token })).status, 200)

  const tenant = `/api/v1/tenants/${owner.tenantId}/`
  const admin = await service.signUp()
  await expect(201, owner.post(`${tenant}members/`, { user_id: admin.id, roles: ['admin'] }))
  await admin.switchTo(owner.tenantId)
  t.match(await admin.post(`${tenant}roles/`, { name: 'Mine', permissions: ['scim:provision'] }), {
    status: 403,
  })
  t.match(await admin.post('/api/v1/service-accounts/', { name: 'Mine', roles: [role] }), { status: 403 })
})

t.test('the directories of a tenant share a limit of their own', async (t) => {
  const owner = await service.signUp()
  const directory = await openDirectory(service, owner)
  for (let i = 0; i < 40; i++) await directory.get('/Schemas')
  const refused = await directory.get('/Schemas')
  t.match(refused, scimError(429))
  t.match(refused.headers.get('retry-after'), /^\d+$/)
  t.match(await service.call('GET', '/api/v1/users/me/', { token: directory.key }), { status: 200 })
})

t.test('a body has a bounded number of values, however it spells them', async (t) => {
  const directory = await openDirectory(service, await service.signUp())
  const { id } = await expect(201, directory.post('/Users', { userName: 'many' }))
  const values = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `${i + from}`)
  const add = (value: unknown) => ({ op: 'add', path: 'ims', value })
  const patched = (...Operations: object[]) => directory.patch(`/Users/${id}`, { Operations })
  const refused = scimError(400, 'invalidValue')
  t.match(await patched(add(values(10_000))), refused)
  t.match(await patched(add(values(500)), add(values(500, 500))), refused)
  t.match(await patched(add(values(500)), ...values(150).map(add)), refused, 'the work is bounded')
  const filter = values(200)
    .map((i) => `value eq "${i}"`)
    .join(' or ')
  t.match(
    await patched(add(values(500)), { op: 'replace', path: `ims[${filter}].type`, value: 'x' }),
    refused,
  )
  t.match(await patched(add(values(500)), add(values(500))), { status: 200 })
  t.equal((await directory.get(`/Users/${id}`)).body.ims.length, 500, 'the same values are there once')
  const spelt = (names: string[]) =>
    directory.post('/Users', {
      userName: 'spelt',
      ...Object.fromEntries(names.map((name, i) => [name, values(500, i * 500)])),
    })
  t.match(await spelt(['ims', ' ims']), refused)
  t.match(await spelt(['ims', 'IMS']), refused)
  t.match(await spelt(['ims', 'urn:ietf:params:scim:schemas:core:2.0:User:ims']), refused)
  t.match(await patched({ op: 'replace', path: 'emails[value eq 5].type', value: 'work' }), refused)
  const phones = [{ value: '5', primary: true }]
  t.match(await patched({ op: 'add', path: 'phoneNumbers', value: phones }), { status: 200 })
  for (const condition of ['value co 5', 'value gt true', 'primary co "a"', 'primary sw 5', 'value.x eq 5'])
    t.match(
      await patched({ op: 'replace', path: `phoneNumbers[${condition}].type`, value: 'work' }),
      { status: 200 },
      condition,
    )
})
