import {
  about,
  consume,
  newInvoice,
  openHouse,
  request,
  requested,
  userOf,
} from '../authorization/approvals/counting-house.ts'
import { approve, ask, newBody, openOffice, reject, repeat } from '../authorization/approvals/office.ts'
import { type Answer, type Client, type Service, tokenIn } from '../helpers/service.ts'
import { expect, foundFirm } from '../tenancy/staff.ts'
import type { Attack, Tally } from './attack.ts'

export const privileges: Attack = {
  name: 'privileges',
  about: 'members who raise themselves or others, and approvals that are used for something else',
  async run(stage, tally) {
    const service = await stage.shared()
    await admins(tally, service)
    await customRoles(tally, service)
    await approvals(tally, service)
    await applicationApprovals(tally, service)
    await changedVotes(tally, service)
    await usedInvitation(tally, service)
    await preconditions(tally, service)
    await otherPeople(tally, service)
  },
}

const isDenied = ({ status, body }: Answer) => status === 403 && body.code === 'permission_denied'

async function admins(tally: Tally, service: Service) {
  const { owner, path, hire } = await foundFirm(service)
  const admin = await hire('admin')
  const other = await hire('member')
  const { body } = await owner.get(`${path}/members/?user_id=${owner.id}`)
  const ownerAt = `${path}/members/${body.results[0].id}/`
  const attempts: Record<string, () => Promise<Answer>> = {
    'makes another an owner': () => admin.put(`${path}/members/${other.memberId}/`, { roles: ['owner'] }),
    'makes themselves an owner': () => admin.put(`${path}/members/${admin.memberId}/`, { roles: ['owner'] }),
    'invites an owner': () =>
      admin.post(`${path}/invitations/`, { email: 'o@example.com', roles: ['owner'] }),
    'adds an owner': async () =>
      admin.post(`${path}/members/`, { user_id: (await service.register()).id, roles: ['owner'] }),
    'demotes the owner': () => admin.put(ownerAt, { roles: ['member'] }),
    'suspends the owner': () => admin.put(ownerAt, { status: 'suspended' }),
    'removes the owner': () => admin.delete(ownerAt),
    'suspends the tenant': () => admin.post(`${path}/suspend/`),
    'deletes the tenant': () => admin.delete(`${path}/`),
    'makes a role of an owner': () =>
      admin.post(`${path}/roles/`, { name: 'Boss', permissions: ['tenant:delete'] }),
    'makes a role of everything': () =>
      admin.post(`${path}/roles/`, { name: 'All', permissions: ['tenant:*'] }),
  }
  for (const [what, attempt] of Object.entries(attempts))
    await tally.refuse(`an admin ${what}`, attempt, isDenied)
  await tally.refuse(
    'the last owner leaves',
    () => owner.delete(ownerAt),
    ({ status, body }) => status === 409 && body.code === 'last_owner',
  )
  await tally.refuse('the last owner steps down', () => owner.put(ownerAt, { roles: ['member'] }), [409])
  const roles = await owner.get(`${path}/roles/`)
  for (const { id, is_system } of roles.body.results)
    if (is_system) {
      await tally.refuse(
        'a system role is changed',
        () => owner.put(`${path}/roles/${id}/`, { permissions: [] }),
        [400, 403, 409],
      )
      await tally.refuse('a system role is deleted', () => owner.delete(`${path}/roles/${id}/`), [403, 409])
    }
}

/** A role that may manage members and roles, and nothing else. */
async function customRoles(tally: Tally, service: Service) {
  const { owner, path, hire, role } = await foundFirm(service)
  const grade = { key: 'grade', display_name: 'Grade', category: 'subject', data_type: 'string' }
  await expect(201, owner.post('/api/v1/attribute-definitions/', grade))
  const { id: department_id } = await expect(201, owner.post(`${path}/departments/`, { name: 'Sales' }))
  const manages = [
    'member:create',
    'member:update',
    'role:create',
    'role:update',
    'invitation:create',
    'member:list',
  ]
  const clerk = await hire(await role(...manages))
  const guest = await hire('member')
  const strong = await role('policy:update')
  const own = (await clerk.get(`${path}/members/${clerk.memberId}/`)).body.roles
  const attempts: Record<string, () => Promise<Answer>> = {
    'gives admin': () => clerk.put(`${path}/members/${guest.memberId}/`, { roles: ['admin'] }),
    'gives a stronger role': () => clerk.put(`${path}/members/${guest.memberId}/`, { roles: [strong] }),
    'gives themselves another role': () =>
      clerk.put(`${path}/members/${clerk.memberId}/`, { roles: [...own, 'member'] }),
    'makes a stronger role': () =>
      clerk.post(`${path}/roles/`, { name: 'Strong', permissions: ['policy:update'] }),
    'makes a role of all verbs': () =>
      clerk.post(`${path}/roles/`, { name: 'Wide', permissions: ['role:*'] }),
    'invites an admin': () =>
      clerk.post(`${path}/invitations/`, { email: 'a@example.com', roles: ['admin'] }),
    'changes their own department': () => clerk.put(`${path}/members/${clerk.memberId}/`, { department_id }),
    'changes their own attributes': () =>
      clerk.put(`${path}/members/${clerk.memberId}/`, { attributes: { grade: '9' } }),
  }
  for (const [what, attempt] of Object.entries(attempts))
    await tally.refuse(`a clerk ${what}`, attempt, isDenied)
}

async function approvals(tally: Tally, service: Service) {
  const office = await openOffice(service)
  const { asker, approver, owner } = office
  const body = newBody()
  const id = await ask(office, asker, body)
  const isInvalid = ({ status, body }: Answer) => status === 403 && /^approval_/.test(body.code)
  await tally.refuse('a request that is pending', () => repeat(office, asker, id, body), isInvalid)
  await tally.refuse(
    'the requester approves',
    () => approve(asker, id),
    ({ status, body }) => status === 403 && body.code === 'self_approval_forbidden',
  )
  const member = await foundFirm(service)
  await tally.refuse('a stranger approves', () => approve(member.owner, id), [404])
  await expect(200, approve(approver, id))
  await tally.refuse('another body', () => repeat(office, asker, id, newBody()), isInvalid)
  await tally.refuse('another person', () => repeat(office, approver, id, body), isInvalid)
  await tally.refuse('an unknown approval', () => repeat(office, asker, owner.id, body), isInvalid)
  await expect(201, repeat(office, asker, id, body))
  await tally.refuse('a used approval', () => repeat(office, asker, id, body), isInvalid)
  const late = newBody()
  const second = await ask(office, asker, late)
  await expect(200, approve(approver, second))
  service.advance(2 * 3_600_000)
  const again = await service.logIn(asker)
  await again.switchTo(owner.tenantId)
  await tally.refuse('an approval after its time', () => repeat(office, again, second, late), isInvalid)
}

/** An approval of an application's action is for its subject and values, and for one operation. */
async function applicationApprovals(tally: Tally, service: Service) {
  const house = await openHouse(service)
  const { clerk, approver, hire } = house
  const invoice = newInvoice()
  const put = (amount: number) =>
    house.owner.put(`/api/v1/resources/invoice/${invoice}/`, { attributes: { amount, payee: 'Paper' } })
  await put(5000)
  const id = await requested(clerk, about(invoice))
  const isDenied = ({ status, body }: Answer) => status === 403 && body.code === 'permission_denied'
  const isUnusable = ({ status, body }: Answer) => status === 409 && body.code === 'invalid_state'
  await tally.refuse('the subject approves', () => approve(clerk, id), [403])
  await tally.refuse('a pending approval is consumed', () => consume(clerk, id, 'a'), isUnusable)
  await expect(200, approve(approver, id))
  const other = await hire('member')
  await tally.refuse('a colleague consumes', () => consume(other, id, 'a'), isDenied)
  await tally.refuse(
    'a colleague asks for the subject',
    () => request(other, { ...about(invoice), ...userOf(clerk) }),
    isDenied,
  )
  const stranger = await foundFirm(service)
  await tally.refuse('a stranger consumes', () => consume(stranger.owner, id, 'a'), [404])
  await put(9000)
  await tally.refuse(
    'another amount than was approved',
    () => consume(clerk, id, 'a'),
    ({ status, body }) => status === 403 && body.code === 'approval_invalid',
  )
  await put(5000)
  await expect(200, consume(clerk, id, 'a'))
  await tally.refuse('another operation', () => consume(clerk, id, 'b'), isUnusable)
}

/** A vote is final: an approver who approved cannot reject any more, nor the other way. */
async function changedVotes(tally: Tally, service: Service) {
  const office = await openOffice(service, { quorum: 2 })
  const id = await ask(office, office.asker, newBody())
  await expect(200, approve(office.approver, id))
  const isFinal = ({ status, body }: Answer) => status === 409 && body.code === 'invalid_state'
  await tally.refuse('a vote is turned round', () => reject(office.approver, id), isFinal)
  const { body } = await approve(office.approver, id)
  tally.check(body.votes.length === 1 && body.status === 'pending', 'a repeated vote counts once')
}

/** Who was removed does not come back by the invitation that they accepted. */
async function usedInvitation(tally: Tally, service: Service) {
  const { owner, path } = await foundFirm(service)
  const person = await service.signUp()
  await expect(201, owner.post(`${path}/invitations/`, { email: person.email }))
  const token = tokenIn(await service.mailTo(person.email, 'invited'))
  const accept = () => person.post('/api/v1/invitations/accept/', { token })
  const { results } = await expect(200, owner.get(`${path}/invitations/`))
  const acceptById = (by: Client) => by.post(`/api/v1/users/me/invitations/${results[0].id}/accept/`)
  await tally.refuse('an invitation to an address that is only claimed', () => acceptById(person), [404])
  await tally.refuse('an invitation to another address', () => acceptById(owner), [404])
  await expect(200, accept())
  const { body } = await owner.get(`${path}/members/?user_id=${person.id}`)
  await expect(204, owner.delete(`${path}/members/${body.results[0].id}/`))
  await tally.refuse(
    'an accepted invitation',
    accept,
    ({ status, body }) => status === 400 && body.code === 'invitation_invalid',
  )
  await tally.refuse('an accepted invitation, without its token', () => acceptById(person), [400])
}

async function preconditions(tally: Tally, service: Service) {
  const owner = await service.signUp()
  const path = `/api/v1/tenants/${owner.tenantId}/`
  const headers = { 'if-match': '"0"' }
  await tally.refuse('a stale version', () => owner.put(path, { name: 'Lost' }, { headers }), [412])
  await tally.refuse('a cursor of another list', async () => {
    const { body } = await manySessions(service, owner)
    return owner.get(`/api/v1/tenants/?cursor=${cursorIn(body.next)}`)
  }, [400])
  await tally.refuse('a cursor of another person', async () => {
    const { body } = await manySessions(service, owner)
    return (await service.signUp()).get(`/api/v1/auth/sessions/?page_size=1&cursor=${cursorIn(body.next)}`)
  }, [400])
}

const cursorIn = (next: string) => new URL(next).searchParams.get('cursor')
async function manySessions(service: Service, person: Client) {
  await service.logIn(person)
  return person.get('/api/v1/auth/sessions/?page_size=1')
}

async function otherPeople(tally: Tally, service: Service) {
  const { owner, hire } = await foundFirm(service)
  const member = await hire('member')
  const at = `/api/v1/users/${member.id}/`
  for (const body of [{ email: 'taken@example.com' }, { is_active: false }, { first_name: 'Mallory' }])
    await tally.refuse(
      `an owner changes ${Object.keys(body)} of a member`,
      () => owner.patch(at, body),
      [403],
    )
  const sessions = (await member.get('/api/v1/auth/sessions/')).body.results
  await tally.refuse(
    'a session of another person',
    () => owner.delete(`/api/v1/auth/sessions/${sessions[0].id}/`),
    [404],
  )
}
