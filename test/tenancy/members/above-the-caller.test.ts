import t from 'tap'
import { sharedService } from '../../helpers/shared-service.ts'
import { expect, foundFirm } from '../staff.ts'

const service = await sharedService(t)
const denied = { status: 403, body: { code: 'permission_denied' } }

t.test('who lacks a permission of a member cannot change, sign out or remove that member', async (t) => {
  const { path, hire, role } = await foundFirm(service)
  const clerk = await hire('member', await role('member:update', 'member:delete', 'document:read'))
  const peer = await hire('member', await role('document:read'))
  for (const above of [await hire('admin'), await hire('member', await role('report:sign'))]) {
    const at = `${path}/members/${above.memberId}/`
    t.match(await clerk.put(at, { roles: ['member'] }), denied)
    t.match(await clerk.patch(at, { status: 'suspended' }), denied)
    t.match(await clerk.delete(`${at}sessions/`), denied)
    t.match(await clerk.delete(at), denied)
    t.equal((await above.get('/api/v1/users/me/')).status, 200)
  }
  const at = `${path}/members/${peer.memberId}/`
  await expect(200, clerk.patch(at, { status: 'suspended' }))
  await expect(204, clerk.delete(`${at}sessions/`))
  await expect(204, clerk.delete(at))
  await expect(204, clerk.delete(`${path}/members/${clerk.memberId}/`))
})

t.test('an admin changes admins, and a key with scopes those whom its holder can change', async (t) => {
  const { path, hire } = await foundFirm(service)
  const admin = await hire('admin')
  const other = await hire('admin')
  const at = `${path}/members/${other.memberId}/`
  const made = await expect(
    201,
    admin.post('/api/v1/users/me/keys/', { name: 'robot', scopes: ['member:update'] }),
  )
  const suspended = await service.call('PATCH', at, { token: made.key, body: { status: 'suspended' } })
  t.equal(suspended.status, 200)
  await expect(200, admin.patch(at, { status: 'active', roles: ['member'] }))
})

t.test('who lacks a permission of a service account cannot disable or delete it', async (t) => {
  const { owner, hire, role } = await foundFirm(service)
  const clerk = await hire(
    'member',
    await role('service_account:update', 'service_account:delete', 'document:read'),
  )
  const make = async (name: string, roles: string[]) => {
    const { id } = await expect(201, owner.post('/api/v1/service-accounts/', { name, roles }))
    return `/api/v1/service-accounts/${id}/`
  }
  const above = await make('above', ['admin'])
  t.match(await clerk.patch(above, { status: 'disabled' }), denied)
  t.match(await clerk.delete(above), denied)
  const below = await make('below', ['member'])
  await expect(200, clerk.patch(below, { status: 'disabled' }))
  await expect(204, clerk.delete(below))
})

t.test('a permission that the caller lacks cannot be taken away from a role', async (t) => {
  const { path, owner, hire, role } = await foundFirm(service)
  const clerk = await hire('member', await role('role:update', 'document:read'))
  const { id } = await expect(
    201,
    owner.post(`${path}/roles/`, { name: 'Signers', permissions: ['report:sign', 'document:read'] }),
  )
  const at = `${path}/roles/${id}/`
  const refused = await clerk.patch(at, { permissions: ['document:read'] })
  t.match(refused, denied)
  t.match(refused.body.detail, 'report:sign')
  await expect(200, clerk.patch(at, { permissions: ['report:sign'] }))
})
