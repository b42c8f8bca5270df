import t from 'tap'
import { startService } from '../helpers/service.ts'
import { look } from '../tenancy/staff.ts'

const service = await startService(t, { workers: false })
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
