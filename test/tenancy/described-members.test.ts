import t from 'tap'
import { type Client, tokenIn } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { expect, type Firm, foundFirm } from './staff.ts'

const service = await sharedService(t)
const denied = { status: 403, body: { code: 'permission_denied', detail: /policy:update/ } }

const department = async ({ owner, path }: Firm, name: string, parent_id?: string): Promise<string> =>
  (await expect(201, owner.post(`${path}/departments/`, { name, ...(parent_id && { parent_id }) }))).id

const changer = ['policy:read', 'policy:list', 'policy:update']

t.test('a department, a manager or attributes of a new member take policy:update', async (t) => {
  const firm = await foundFirm(service)
  const { owner, path, hire, role } = firm
  const finance = await department(firm, 'Finance')
  await expect(
    201,
    owner.post('/api/v1/attribute-definitions/', {
      key: 'clearance',
      data_type: 'integer',
      category: 'subject',
    }),
  )
  const lead = await hire('member', await role('member:create'))
  const head = await hire('member', await role('member:create', ...changer))
  for (const body of [
    { department_id: finance },
    { attributes: { clearance: 9 } },
    { manager_id: owner.id },
  ]) {
    const person = await service.signUp()
    t.match(await lead.post(`${path}/members/`, { user_id: person.id, ...body }), denied)
    await expect(201, head.post(`${path}/members/`, { user_id: person.id, ...body }))
  }
  const person = await service.signUp()
  await expect(201, lead.post(`${path}/members/`, { user_id: person.id }))
})

t.test('a department in an invitation takes policy:update, also when it is accepted', async (t) => {
  const firm = await foundFirm(service)
  const { owner, path, hire, role } = firm
  const finance = await department(firm, 'Finance')
  const lead = await hire('member', await role('invitation:create'))
  const head = await hire('member', await role('invitation:create', ...changer))
  const invite = (who: Client, email: string, body = {}) =>
    who.post(`${path}/invitations/`, { email, role: 'member', ...body })
  const guest = await service.signUp()
  t.match(await invite(lead, guest.email, { department_id: finance }), denied)
  await expect(201, invite(lead, (await service.signUp()).email))
  await expect(201, invite(head, guest.email, { department_id: finance }))
  const token = tokenIn(await service.mailTo(guest.email, 'invited'))
  await expect(
    200,
    owner.put(`${path}/members/${head.memberId}/`, { roles: ['member', await role('invitation:create')] }),
  )
  const accepted = await guest.post('/api/v1/invitations/accept/', { token })
  t.match(accepted, { status: 400, body: { code: 'invitation_invalid' } })
})

t.test('a department moves with or below the mover only with policy:update', async (t) => {
  const firm = await foundFirm(service)
  const { owner, path, hire, role } = firm
  const [finance, sales, shop] = [
    await department(firm, 'Finance'),
    await department(firm, 'Sales'),
    await department(firm, 'Shop'),
  ]
  const counter = await department(firm, 'Counter', shop)
  const lead = await hire('member', await role('department:update', 'department:list'))
  const at = (id: string) => `${path}/departments/${id}/`
  await expect(200, owner.put(`${path}/members/${lead.memberId}/`, { department_id: counter }))
  t.match(await lead.patch(at(counter), { parent_id: finance }), denied, 'the own department')
  t.match(await lead.patch(at(shop), { parent_id: finance }), denied, 'one above it')
  t.match(await lead.patch(at(finance), { parent_id: counter }), denied, 'another one, to below it')
  await expect(200, lead.patch(at(sales), { parent_id: finance }))
  await expect(200, lead.patch(at(shop), { name: 'Shops' }))
  await expect(200, owner.patch(at(shop), { parent_id: finance }))
})

t.test('a caller becomes the manager of a member only with policy:update', async (t) => {
  const { owner, path, hire, role } = await foundFirm(service)
  const lead = await hire('member', await role('member:update'))
  const peer = await hire('member')
  const at = `${path}/members/${peer.memberId}/`
  t.match(await lead.patch(at, { manager_id: lead.id }), denied)
  await expect(200, lead.patch(at, { manager_id: owner.id }))
})
