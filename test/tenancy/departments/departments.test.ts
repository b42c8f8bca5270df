import { randomUUID } from 'node:crypto'
import t from 'tap'
import { startService } from '../../helpers/service.ts'
import { eventsOf, expect, type Firm, foundFirm, wrongCounts } from '../staff.ts'

const service = await startService(t, { env: { LIMIT_DEPARTMENTS: '8' } })
const make = ({ owner, path }: Firm, name: string, parent_id: string | null = null) =>
  expect(201, owner.post(`${path}/departments/`, { name, parent_id }))

t.test('departments are created, read, listed, moved and deleted, with one event each', async (t) => {
  const firm = await foundFirm(service)
  const { owner, path, id, hire } = firm
  const top = await make(firm, 'Top')
  const low = await expect(
    201,
    owner.post(`${path}/departments/`, { name: ' Low ', description: 'd', parent_id: top.id }),
  )
  t.match(low, { name: 'Low', description: 'd', parent_id: top.id, member_count: 0 })
  t.match(await make(firm, 'Low'), { parent_id: null }, 'names need not be unique')
  const at = `${path}/departments/${low.id}/`
  t.same(await expect(200, owner.get(at)), low)
  const list = await expect(200, owner.get(`${path}/departments/`))
  t.same([list.count, list.results.length], [3, 3])

  const clerk = await hire('member')
  await expect(200, owner.put(`${path}/members/${clerk.memberId}/`, { department_id: low.id }))
  t.equal((await owner.get(at)).body.member_count, 1)
  const inUse = { status: 409, body: { code: 'department_in_use' } }
  t.match(await owner.delete(at), inUse, 'members')
  t.match(await owner.delete(`${path}/departments/${top.id}/`), inUse, 'children')
  await expect(200, owner.put(`${path}/members/${clerk.memberId}/`, { department_id: null }))
  service.advance(1000)
  t.match(await expect(200, owner.patch(at, { parent_id: null, name: 'Free' })), {
    parent_id: null,
    name: 'Free',
  })
  await expect(200, owner.put(at, { name: 'Free' }))
  await expect(204, owner.delete(at))
  t.equal((await owner.delete(at)).status, 404)
  t.same(
    await eventsOf(service, id, 'tenant.department_'),
    ['created', 'created', 'created', 'updated', 'deleted'].map((verb) => `tenant.department_${verb}`),
  )
})

t.test('a department cannot be moved below itself or its descendants', async (t) => {
  const firm = await foundFirm(service)
  const { owner, path } = firm
  const a = await make(firm, 'A')
  const b = await make(firm, 'B', a.id)
  const c = await make(firm, 'C', b.id)
  const cycle = { status: 400, body: { errors: [{ field: 'parent_id' }] } }
  for (const parent of [a, b, c])
    t.match(await owner.put(`${path}/departments/${a.id}/`, { parent_id: parent.id }), cycle)
  t.equal((await owner.put(`${path}/departments/${c.id}/`, { parent_id: a.id })).status, 200)
  t.equal((await owner.put(`${path}/departments/${b.id}/`, { parent_id: c.id })).status, 200)
})

t.test('of two concurrent moves that form a cycle together, one is refused, fifty times', async (t) => {
  const firm = await foundFirm(service)
  const { owner, path } = firm
  const [a, b] = [await make(firm, 'A'), await make(firm, 'B')]
  const move = (id: string, parent_id: string | null) =>
    owner.put(`${path}/departments/${id}/`, { parent_id })
  const outcomes = new Set<string>()
  for (let round = 0; round < 50; round++) {
    const answers = await Promise.all([move(a.id, b.id), move(b.id, a.id)])
    outcomes.add(
      answers
        .map((answer) => answer.status)
        .sort()
        .join(),
    )
    await Promise.all([expect(200, move(a.id, null)), expect(200, move(b.id, null))])
  }
  t.same([...outcomes], ['200,400'])
})

t.test(
  'a department that is deleted while it gets a member or a child is either gone or in use',
  async (t) => {
    const firm = await foundFirm(service)
    const { owner, path, hire } = firm
    const clerk = await hire('member')
    for (let round = 0; round < 8; round++) {
      const { id } = await make(firm, `D${round}`)
      const guest = await service.register()
      const [put, added, child, deleted] = await Promise.all([
        owner.put(`${path}/members/${clerk.memberId}/`, { department_id: id }),
        owner.post(`${path}/members/`, { user_id: guest.id, department_id: id }),
        owner.post(`${path}/departments/`, { name: 'Child', parent_id: id }),
        owner.delete(`${path}/departments/${id}/`),
      ])
      const statuses = [put!, added!, child!].map((answer) => answer.status)
      t.ok(
        statuses.every((status) => [200, 201, 400].includes(status)),
        statuses.join(),
      )
      t.equal(deleted!.status, statuses.every((status) => status === 400) ? 204 : 409)
      await expect(200, owner.put(`${path}/members/${clerk.memberId}/`, { department_id: null }))
      if (added!.status === 201) await expect(204, owner.delete(`${path}/members/${added!.body.id}/`))
      if (child!.status === 201) await expect(204, owner.delete(`${path}/departments/${child!.body.id}/`))
      if (deleted!.status === 409) await expect(204, owner.delete(`${path}/departments/${id}/`))
    }
  },
)

t.test('invalid values are refused by field, and the limit of departments holds', async (t) => {
  const firm = await foundFirm(service)
  const { owner, path } = firm
  const cases: [object, string][] = [
    [{}, 'name'],
    [{ name: ' ' }, 'name'],
    [{ name: 'x'.repeat(121) }, 'name'],
    [{ name: 'x', description: null }, 'description'],
    [{ name: 'x', parent_id: 'y' }, 'parent_id'],
    [{ name: 'x', parent_id: randomUUID() }, 'parent_id'],
  ]
  for (const [body, field] of cases)
    t.match(await owner.post(`${path}/departments/`, body), { status: 400, body: { errors: [{ field }] } })
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => owner.post(`${path}/departments/`, { name: 'x' })),
  )
  t.equal(answers.filter((answer) => answer.status === 201).length, 8)
  t.ok(answers.every(({ status, body }) => status === 201 || body.code === 'limit_reached'))
})

t.test('the counters of all tenants are right', async (t) => {
  t.same(await wrongCounts(service), [])
})
