import t from 'tap'
import { sharedService } from '../helpers/shared-service.ts'
import { eventsOf, expect, foundFirm } from './staff.ts'

const service = await sharedService(t, { workers: false })
const firm = await foundFirm(service)
const { owner, path, id } = firm
const clerk = await firm.hire('member')
const role = await expect(201, owner.post(`${path}/roles/`, { name: 'Clerk' }))
const floor = { category: 'subject', key: 'floor', data_type: 'integer' }
await expect(201, owner.post('/api/v1/attribute-definitions/', floor))
const department = await expect(201, owner.post(`${path}/departments/`, { name: 'Desk' }))

const details: [string, string, (n: number) => object][] = [
  ['tenant', `${path}/`, (n) => ({ name: `Firm ${n}` })],
  ['member', `${path}/members/${clerk.memberId}/`, (n) => ({ attributes: { floor: n } })],
  [
    "member's roles",
    `${path}/members/${clerk.memberId}/`,
    (n) => ({ roles: n % 2 ? ['auditor'] : ['member'] }),
  ],
  ['role', `${path}/roles/${role.id}/`, (n) => ({ description: `${n}` })],
  ['department', `${path}/departments/${department.id}/`, (n) => ({ name: `Desk ${n}` })],
]

for (const [name, at, change] of details)
  t.test(`the ETag of a ${name} is a condition of its change`, async (t) => {
    const tag = async () => (await owner.get(at)).headers.get('etag') ?? ''
    const put = (n: number, match: string) => owner.put(at, change(n), { headers: { 'if-match': match } })
    const first = await tag()
    t.match(first, /^"\d+"$/)
    t.equal((await put(1, first)).status, 200)
    t.not(await tag(), first)
    const { body } = await owner.get(at)
    t.match(await put(2, first), { status: 412, body: { code: 'precondition_failed' } })
    t.same((await owner.get(at)).body, body, 'a refused change changes nothing')
    t.equal((await put(2, '*')).status, 200)
    const shared = await tag()
    const before = (await eventsOf(service, id)).length
    const answers = await Promise.all(Array.from({ length: 8 }, () => put(3, shared)))
    t.same(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(412)])
    t.equal((await eventsOf(service, id)).length, before + 1, 'one change, one event')
  })

t.test('an object that changed since it was read is not removed', async (t) => {
  const stale = { headers: { 'if-match': '"999"' } }
  for (const at of [`roles/${role.id}/`, `departments/${department.id}/`, `members/${clerk.memberId}/`, '']) {
    t.equal((await owner.delete(`${path}/${at}`, stale)).status, 412, at || 'the tenant')
    const now = (await owner.get(`${path}/${at}`)).headers.get('etag') ?? ''
    t.equal((await owner.delete(`${path}/${at}`, { headers: { 'if-match': now } })).status, 204)
  }
})
