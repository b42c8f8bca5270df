import t from 'tap'
import { sharedService } from '../helpers/shared-service.ts'
import { look } from '../tenancy/staff.ts'

const service = await sharedService(t, { workers: false })
const ada = await service.signUp()
const roles = `/api/v1/tenants/${ada.tenantId}/roles/`

/** The logged decisions about one action. */
async function logged(action: string): Promise<{ id: string; effect: string }[]> {
  const { body } = await ada.get(`/api/v1/decisions/?action=${action}`)
  return body.results
}

t.test(
  'a change has one line in the log of decisions, and so has a change that is refused later',
  async (t) => {
    t.match(await ada.post(roles, { name: 'Reader' }), { status: 201 })
    t.match(await logged('role:create'), [{ effect: 'allow' }])
    t.match(await ada.post(roles, { name: 'reader' }), { status: 409, body: { code: 'name_taken' } })
    t.match(await logged('role:create'), [{ effect: 'allow' }, { effect: 'allow' }])
    t.equal((await logged('role:create')).length, 2)
  },
)

t.test('the audit row of a change names the decision in the log', async (t) => {
  await ada.post(roles, { name: 'Named' })
  const [decision] = await logged('role:create')
  const { body } = await ada.get('/api/v1/audit-log/?action=role:create')
  t.equal(body.results[0].decision_id, decision!.id)
})

t.test('a change whose decision cannot be logged is not made', async (t) => {
  const refuse = `alter table decisions add constraint refused check (action <> 'role:create') not valid`
  await look(service, refuse)
  const { status } = await ada.post(roles, { name: 'Unlogged' })
  t.equal(status, 500)
  await look(service, 'alter table decisions drop constraint refused')
  const { body } = await ada.get(`${roles}?search=unlogged`)
  t.same(body.results, [])
  const events = await look(service, `select 1 from audit_log where changes::text like '%Unlogged%'`)
  t.same(events, [])
  t.equal((await ada.post(roles, { name: 'Unlogged' })).status, 201)
})

t.test('decisions of changes use up the limit of the day as others do', async (t) => {
  await service.deps.decisionLog.flush()
  const values = [ada.tenantId]
  const [{ kept }] = await look(
    service,
    'select count(*)::int as kept from decisions where tenant_id = $1',
    values,
  )
  const [{ used }] = await look(
    service,
    "select used::int from daily_counts where tenant_id = $1 and kind = 'decisions'",
    values,
  )
  t.ok(kept > 3)
  t.equal(used, kept)
})

t.test(
  'a change to which a policy in shadow mode applies is logged with what that policy would do',
  async (t) => {
    const rule = {
      name: 'No roles',
      effect: 'deny',
      mode: 'shadow',
      actions: ['role:create'],
      conditions: {},
    }
    t.equal((await ada.post('/api/v1/policies/', rule)).status, 201)
    t.equal((await ada.post(roles, { name: 'Shadowed' })).status, 201)
    const { body } = await ada.get('/api/v1/decisions/?action=role:create')
    t.match(body.results[0], { effect: 'allow', shadow: [{ outcome: 'would_deny' }] })
  },
)

t.test('a tenant that cannot be counted prevents counting no other', async (t) => {
  const grace = await service.signUp()
  await service.deps.decisionLog.flush()
  const usedBy = async ({ tenantId }: { tenantId: string }): Promise<number> => {
    const query = "select used::int from daily_counts where tenant_id = $1 and kind = 'decisions'"
    return (await look(service, query, [tenantId]))[0]?.used ?? 0
  }
  const before = [await usedBy(ada), await usedBy(grace)]
  await look(service, `alter table daily_counts add check (tenant_id <> '${grace.tenantId}') not valid`)
  for (const { post, tenantId } of [ada, grace])
    t.equal((await post(`/api/v1/tenants/${tenantId}/departments/`, { name: 'Counted' })).status, 201)
  await service.deps.decisionLog.flush()
  t.same([await usedBy(ada), await usedBy(grace)], [before[0]! + 1, before[1]])
  t.equal(
    (await ada.post(`/api/v1/tenants/${ada.tenantId}/departments/`, { name: 'Counted again' })).status,
    201,
  )
  await service.deps.decisionLog.flush()
  t.equal(await usedBy(ada), before[0]! + 2)
})
