import t from 'tap'
import { reservedResources } from '../../src/policy-engine/catalogue/reserved-names.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t, { workers: false })
const owner = await service.signUp()
const refused = (name: string, field: RegExp) => ({
  status: 400,
  body: { errors: [{ field, detail: new RegExp(`app_${name}`) }] },
})

t.test('roles, keys, policies and resources of applications cannot take a reserved name', async (t) => {
  t.equal(reservedResources.length, 2)
  const rule = { name: 'Rule', effect: 'allow', conditions: {} }
  for (const name of reservedResources) {
    for (const permission of [`${name}:read`, `${name}:*`]) {
      const permissions = ['note:read', permission]
      t.match(
        await owner.post(`/api/v1/tenants/${owner.tenantId}/roles/`, { name: 'Reader', permissions }),
        refused(name, /^permissions\.1$/),
      )
      t.match(
        await owner.post('/api/v1/policies/', { ...rule, actions: [permission] }),
        refused(name, /^actions\.0$/),
      )
      t.match(
        await owner.post('/api/v1/users/me/keys/', { name: 'Key', scopes: [permission] }),
        refused(name, /^scopes\.0$/),
      )
    }
    t.match(
      await owner.post('/api/v1/policies/', { ...rule, actions: ['note:read'], resource_types: [name] }),
      refused(name, /^resource_types\.0$/),
    )
    t.match(await owner.put(`/api/v1/resources/${name}/1/`, {}), refused(name, /^resource_type$/))
  }
})

t.test('a question or a search about a reserved name gives nothing', async (t) => {
  const subject = { type: 'user', id: owner.id }
  const action = { name: 'installation:read' }
  const resource = { type: 'installation', id: '1' }
  t.match(await owner.post('/access/v1/evaluation', { subject, action, resource }), {
    status: 200,
    body: { decision: false, context: { reasons: [{ code: 'unknown_action' }] } },
  })
  t.match(await owner.post('/access/v1/search/resource', { subject, action, resource }), {
    status: 200,
    body: { results: [] },
  })
  t.match(await owner.post('/access/v1/evaluation', { subject, action: { name: 'note:read' }, resource }), {
    status: 200,
    body: { decision: false },
  })
})
