import { randomUUID } from 'node:crypto'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import type { Client } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t, { workers: false })
const owner = await service.signUp()
const tenant = `/api/v1/tenants/${owner.tenantId}/`

const department = async (name: string, parent_id: string | null = null, by: Client = owner) => {
  const { status, body } = await by.post(`/api/v1/tenants/${by.tenantId}/departments/`, { name, parent_id })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body.id as string
}
const memberOf = async ({ id }: Client) =>
  (await owner.get(`${tenant}members/?user_id=${id}`)).body.results[0].id as string
const change = async (member: Client, body: object) =>
  owner.patch(`${tenant}members/${await memberOf(member)}/`, body)

const works = await department('Works')
const paint = await department('Paint shop', works)
const spray = await department('Spray booth', paint)
const sales = await department('Sales')
const painter = await colleague(service, owner)
await change(painter, { department_id: spray })

async function policy(body: object) {
  const answer = await owner.post('/api/v1/policies/', { name: randomUUID(), effect: 'allow', ...body })
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  return answer.body
}
const evaluation = async (name: string, properties: object = {}, subject = painter) =>
  (
    await owner.post('/access/v1/evaluation', {
      subject: { type: 'user', id: subject.id },
      action: { name },
      resource: { type: 'machine', id: '7', properties },
    })
  ).body
const may = async (...asked: Parameters<typeof evaluation>) => (await evaluation(...asked)).decision

t.test('a member is in a department and in all above it, and a move counts at once', async (t) => {
  const inDepartment = (value: unknown) => ({
    attribute: 'subject.department_id',
    operator: 'in_department',
    value,
  })
  await policy({ actions: ['machine:clean'], conditions: inDepartment(works.toUpperCase()) })
  await policy({ actions: ['machine:sell'], conditions: inDepartment([sales, randomUUID()]) })
  const path = { attribute: 'subject.department_path', operator: 'contains', value: paint }
  await policy({ actions: ['machine:paint'], conditions: path })
  t.equal(await may('machine:clean'), true)
  t.equal(await may('machine:sell'), false)
  t.equal(await may('machine:paint'), true)

  await owner.patch(`${tenant}departments/${paint}/`, { parent_id: sales })
  t.equal(await may('machine:clean'), false, 'the department above was moved elsewhere')
  t.equal(await may('machine:sell'), true)
  const moved = await evaluation('machine:clean')
  await owner.patch(`${tenant}departments/${paint}/`, { parent_id: works })
  t.equal(await may('machine:clean'), true)
  t.equal(await may('machine:sell'), false)
  const explained = (await owner.get(`/api/v1/decisions/${moved.context.id}/explain/`)).body
  t.equal(explained.effect, 'deny')
})

t.test('a decision is explained with the departments of its time', async (t) => {
  const conditions = { attribute: 'subject.department_id', operator: 'in_department', value: works }
  const { id } = await policy({ effect: 'deny', actions: ['machine:scrap'], conditions })
  const then = await evaluation('machine:scrap')
  await owner.patch(`${tenant}departments/${paint}/`, { parent_id: sales })
  const { body } = await owner.get(`/api/v1/decisions/${then.context.id}/explain/`)
  t.match(body.trace, [{ policy_id: id, trace: { outcome: 'true', actual: spray } }])
  t.match(body.explanation.join(' '), /"subject.department_id in department .*" is true/)
  await owner.patch(`${tenant}departments/${paint}/`, { parent_id: works })
  t.equal((await owner.post(`/api/v1/policies/${id}/preview/`, {})).status, 200)
})

t.test('the department of a resource can be compared with that of the subject', async (t) => {
  const operator = 'in_department'
  const conditions = { attribute: 'resource.department_id', operator, value_from: 'subject.department_id' }
  await policy({ actions: ['machine:audit'], conditions })
  const head = await colleague(service, owner)
  await change(head, { department_id: works })
  t.equal(await may('machine:audit', { department_id: spray }, head), true)
  t.equal(await may('machine:audit', { department_id: works }), false, 'the painter is below it')
  t.equal(await may('machine:audit', { department_id: sales }, head), false)
})

t.test('a department that the tenant does not have permits nothing, and prevents no denial', async (t) => {
  const stranger = await service.signUp()
  const foreign = await department('Works', null, stranger)
  const named = { attribute: 'resource.department_id', operator: 'in_department' }
  await policy({ actions: ['machine:lend'], conditions: { ...named, value: works } })
  await policy({ actions: ['machine:keep'], conditions: { none: [{ ...named, value: works }] } })
  const odd: unknown[] = [foreign, randomUUID(), 'works', 7, null, [works]]
  for (const department_id of odd) {
    t.equal(await may('machine:lend', { department_id }), false, String(department_id))
    t.equal(await may('machine:keep', { department_id }), false, String(department_id))
  }
  t.match((await evaluation('machine:lend', { department_id: foreign })).context, {
    missing_attributes: [],
    ill_typed_attributes: [{ name: 'resource.department_id', got: 'unknown department' }],
  })
  const { warnings } = await policy({ actions: ['machine:lend'], conditions: { ...named, value: foreign } })
  t.match(warnings, [{ pointer: '/conditions', code: 'unknown_department' }])
  const faults = [{ value: 'works' }, { value: [] }, { value: 7 }, {}, { value_from: 'subject.joined_at' }]
  for (const fault of faults) {
    const body = {
      name: 'Odd',
      effect: 'deny',
      actions: ['machine:lend'],
      conditions: { ...named, ...fault },
    }
    const answer = await owner.post('/api/v1/policies/', body)
    t.equal(answer.status, 422, JSON.stringify([fault, answer.body]))
  }
})

t.test('a member has a manager of the same tenant, whom policies can compare', async (t) => {
  const chief = await colleague(service, owner)
  const outsider = await service.signUp()
  for (const manager_id of [outsider.id, randomUUID(), painter.id])
    t.match((await change(painter, { manager_id })).body, {
      status: 400,
      errors: [{ field: 'manager_id' }],
    })
  t.match((await change(painter, { manager_id: chief.id })).body, { manager_id: chief.id })
  const listed = await owner.get(`${tenant}members/?manager_id=${chief.id}`)
  t.equal(listed.body.results[0].user_id, painter.id)

  const conditions = { attribute: 'subject.manager_id', operator: 'eq', value: chief.id }
  await policy({ actions: ['machine:start'], conditions })
  t.equal(await may('machine:start'), true)
  t.equal(await may('machine:start', { manager_id: chief.id }, chief), false)
  const own = await painter.patch(`${tenant}members/${await memberOf(painter)}/`, { manager_id: null })
  t.equal(own.status, 403, 'members do not choose their manager')
  t.equal((await owner.delete(`${tenant}members/${await memberOf(chief)}/`)).status, 204)
  t.equal((await owner.get(`${tenant}members/?user_id=${painter.id}`)).body.results[0].manager_id, null)
  t.equal(await may('machine:start'), false)
})
