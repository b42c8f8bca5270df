import t from 'tap'
import type { Answer, Client } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { createProgram } from '../../identity/api-keys/holders.ts'
import { expect, foundFirm } from '../../tenancy/staff.ts'
import { approvals, approve, policies, reject } from './office.ts'

const service = await sharedService(t, { workers: false })

// biome-ignore lint/suspicious/noExplicitAny: tests check the content of answers
type Json = any

/** A tenant where making roles needs two approvals of admins, with a program whose key `owner` made. */
async function open() {
  const firm = await foundFirm(service)
  const program = await createProgram(service, firm.owner, ['admin'])
  const approval = { approver: { roles: ['admin', 'owner'] }, quorum: 2 }
  await expect(
    201,
    firm.owner.post(policies, {
      name: 'Gate',
      effect: 'require_approval',
      actions: ['role:create'],
      approval,
    }),
  )
  const asked = (answer: Answer): string => answer.body.approval_request.id
  const by = async (who: Pick<Client, 'post'>, name: string) =>
    asked(await who.post(`${firm.path}/roles/`, { name }))
  return { ...firm, program, by }
}

/** What a caller reads of a request in the detail, in the list, and whether it is in the list of those to decide. */
async function reads(who: Pick<Client, 'get'>, id: string) {
  const { can_vote } = (await who.get(`${approvals}${id}/`)).body
  const inList = (await who.get(approvals)).body.results.find((one: Json) => one.id === id)
  const pending = (await who.get(`${approvals}pending/`)).body.results.map((one: Json) => one.id)
  return { detail: can_vote, list: inList?.can_vote, pending: pending.includes(id) }
}
const yes = { detail: true, list: true, pending: true }
const no = { detail: false, list: false, pending: false }

t.test('who made a key of the account that asks reads that they cannot vote, and cannot', async (t) => {
  const { owner, hire, program, by } = await open()
  const admin = await hire('admin')
  const id = await by(program, 'By the program')
  t.same(await reads(owner, id), no)
  t.match(await approve(owner, id), { status: 403, body: { code: 'self_approval_forbidden' } })
  t.same(await reads(program, id), no, 'its requester')
  t.same(await reads(admin, id), yes)
})

t.test('a request can be voted on by others with the roles, once, while it is pending', async (t) => {
  const { owner, hire, by } = await open()
  const [first, second, auditor] = [await hire('admin'), await hire('admin'), await hire('auditor')]
  const id = await by(owner, 'By the owner')
  t.same(await reads(owner, id), no)
  t.same(await reads(auditor, id), no, 'reads all, and has no role to decide')
  t.same(await reads(first, id), yes)
  t.match(await approve(first, id), { status: 200, body: { status: 'pending', can_vote: false } })
  t.same(await reads(first, id), no, 'has voted')
  t.same(await reads(second, id), yes)
  t.match(await reject(second, id), { status: 200, body: { status: 'rejected', can_vote: false } })
  const third = await hire('admin')
  t.same(await reads(third, id), no, 'it is decided')
})

t.test('a key of a person with the roles reads that it cannot vote', async (t) => {
  const { owner, hire, by } = await open()
  const admin = await hire('admin')
  const id = await by(owner, 'By the owner')
  const { key } = await expect(201, admin.post('/api/v1/users/me/keys/', { name: 'Laptop' }))
  const call = (method: string, path: string) =>
    service.call(method, path, { token: key, body: method === 'POST' ? {} : undefined })
  t.match((await call('GET', `${approvals}${id}/`)).body, { can_vote: false })
  t.equal((await call('POST', `${approvals}${id}/approve/`)).status, 403)
})
