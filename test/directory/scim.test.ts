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
