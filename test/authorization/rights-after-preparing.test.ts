import t from 'tap'
import { untilLocked } from '../helpers/lock-waits.ts'
import { withClient } from '../helpers/query.ts'
import { startService } from '../helpers/service.ts'
import { expect, foundFirm } from '../tenancy/staff.ts'

// own service: the test locks a table
const service = await startService(t, { workers: false })
const policies = '/api/v1/policies/'
const rule = { effect: 'allow', actions: ['note:read'], conditions: {} }

/** Does `meanwhile` while `call`, which was permitted, waits for the words of manifests to prepare its change. */
const whilePreparing = <T>(call: () => Promise<T>, meanwhile: () => Promise<unknown>): Promise<T> =>
  withClient(service.databases.superuser, async (client) => {
    await client.query('begin')
    await client.query('lock table manifests in access exclusive mode')
    const answer = call()
    await untilLocked(service.databases.superuser, [answer])
    await meanwhile()
    await client.query('rollback')
    return answer
  })

t.test('an admin who is demoted while a policy is prepared does not write it', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  const admin = await hire('admin')
  const at = `${path}/members/${admin.memberId}/`
  const body = { name: 'Notes', ...rule }
  t.match(
    await whilePreparing(
      () => admin.post(policies, body),
      () => expect(200, owner.put(at, { roles: ['member'] })),
    ),
    { status: 403, body: { code: 'permission_denied' } },
  )
  t.match(await owner.get(policies), { body: { count: 0 } })
  await expect(200, owner.put(at, { roles: ['admin'] }))
  t.match(
    await whilePreparing(
      () => admin.post(policies, body),
      () => expect(204, owner.delete(at)),
    ),
    { status: 403, body: { code: 'no_active_membership' } },
  )
})

t.test('a change of the roles that leaves the right to write is no obstacle', async (t) => {
  const { owner, path, hire, role } = await foundFirm(service)
  const admin = await hire('admin')
  const reader = await role('note:read')
  t.match(
    await whilePreparing(
      () => admin.post(policies, { name: 'Notes', ...rule }),
      () => expect(200, owner.put(`${path}/members/${admin.memberId}/`, { roles: ['admin', reader] })),
    ),
    { status: 201 },
  )
})
