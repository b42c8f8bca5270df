import { randomUUID } from 'node:crypto'
import t from 'tap'
import { proveAddress } from '../../helpers/prove-address.ts'
import { type Answer, type Client, startService } from '../../helpers/service.ts'
import { expect, foundFirm, look } from '../../tenancy/staff.ts'
import { approve, policies } from './office.ts'

// The change itself is made and undone before an approval is asked for. What refuses it without a gate refuses it here.

const service = await startService(t, { env: { LIMIT_PENDING_INVITATIONS: '2' }, workers: false })

const { owner, hire, role, path, id: tenantId } = await foundFirm(service)
const clerkRole = await role(
  ...[
    'member:create',
    'member:update',
    'member:delete',
    'role:create',
    'invitation:create',
    'api_key:create',
  ],
)
const clerk = await hire(clerkRole, 'member')
const admin = await hire('admin')
const approver = await hire('admin')
await proveAddress(service, owner, admin, approver)
const newcomer = await service.signUp()
const accounts = '/api/v1/service-accounts/'
const account = await expect(201, owner.post(accounts, { name: 'Backend', roles: ['admin'] }))
const { results } = await expect(200, owner.get(`${path}/members/?user_id=${owner.id}`))
const self = `${path}/members/${results[0].id}/`
const rule = { name: 'Rule', effect: 'deny', actions: ['doc:read'] }

const refused: Record<string, { code: string; call: (more?: object) => Promise<Answer> }> = {
  'an invitation to a role that the caller may not give': {
    code: 'permission_denied',
    call: (more) => clerk.post(`${path}/invitations/`, { email: 'a@example.com', roles: ['admin'] }, more),
  },
  'a new member with such a role': {
    code: 'permission_denied',
    call: (more) => clerk.post(`${path}/members/`, { user_id: newcomer.id, roles: ['admin'] }, more),
  },
  'such a role for the caller': {
    code: 'permission_denied',
    call: (more) => clerk.patch(`${path}/members/${clerk.memberId}/`, { roles: ['admin'] }, more),
  },
  'a role with more permissions than the caller has': {
    code: 'permission_denied',
    call: (more) => clerk.post(`${path}/roles/`, { name: 'More', permissions: ['webhook:create'] }, more),
  },
  'a change of a member above the caller': {
    code: 'permission_denied',
    call: (more) => clerk.patch(`${path}/members/${admin.memberId}/`, { status: 'suspended' }, more),
  },
  'the removal of a member above the caller': {
    code: 'permission_denied',
    call: (more) => clerk.delete(`${path}/members/${admin.memberId}/`, more),
  },
  'a key of an account that may do more than the caller': {
    code: 'permission_denied',
    call: (more) => clerk.post(`${accounts}${account.id}/keys/`, { name: 'Key' }, more),
  },
  'a key without the right password': {
    code: 'validation_error',
    call: (more) => owner.post('/api/v1/users/me/keys/', { name: 'Key', current_password: 'wrong' }, more),
  },
  'the last owner as a plain member': {
    code: 'last_owner',
    call: (more) => owner.patch(self, { roles: ['member'] }, more),
  },
  'the last owner who leaves': { code: 'last_owner', call: (more) => owner.delete(self, more) },
  'an unknown person': {
    code: 'validation_error',
    call: (more) => owner.post(`${path}/members/`, { user_id: randomUUID() }, more),
  },
  'an unknown role': {
    code: 'validation_error',
    call: (more) => owner.post(`${path}/invitations/`, { email: 'b@example.com', roles: ['none'] }, more),
  },
  'a name that is taken': {
    code: 'name_taken',
    call: (more) => owner.post(`${path}/roles/`, { name: clerkRole }, more),
  },
  'an old version': {
    code: 'precondition_failed',
    call: (more) => owner.patch(self, { attributes: {} }, withHeaders(more, { 'if-match': '"999"' })),
  },
  'a policy that does not compile': {
    code: 'policy_invalid',
    call: (more) =>
      owner.post(
        policies,
        { ...rule, conditions: { attribute: 'subject.x', operator: 'eq', value: 1 } },
        more,
      ),
  },
}

const withHeaders = (more: object | undefined, headers: object) => ({
  headers: { ...(more && 'headers' in more ? (more.headers as object) : {}), ...headers },
})

/** How many rows the tenant has that a change, a request or a mail would add. */
const rows = async (): Promise<Record<string, number>> => {
  const tables = [
    'approval_requests',
    'mails',
    'events',
    'audit_log',
    'memberships',
    'invitations',
    'roles',
    'api_keys',
  ]
  const counts = tables.map(
    (table) => `(select count(*)::int from ${table} where tenant_id = $1) as ${table}`,
  )
  return (await look(service, `select ${counts.join(', ')}`, [tenantId]))[0]
}
const saidBy = ({ status, body: { code, detail, errors } }: Answer) => ({ status, code, detail, errors })
const withoutGate = Object.fromEntries(
  await Promise.all(
    Object.entries(refused).map(async ([name, { call }]) => [name, saidBy(await call())] as const),
  ),
)
const gated = ['member:*', 'role:*', 'invitation:*', 'api_key:*', 'policy:create']
await expect(201, owner.post(policies, { name: 'Gate', effect: 'require_approval', actions: gated }))

const later = { headers: { prefer: 'respond-async' } }

t.test('what cannot be done is refused as without a gate, and no approval is asked for', async (t) => {
  const before = await rows()
  for (const [name, { code, call }] of Object.entries(refused)) {
    t.equal(withoutGate[name]?.code, code, name)
    t.same(saidBy(await call()), withoutGate[name], name)
    t.same(saidBy(await call(later)), withoutGate[name], `${name}, to be carried out later`)
  }
  t.same(await rows(), before, 'no request, no mail, no change')
})

t.test('what can be done waits for an approval, and is not done before', async (t) => {
  const before = await rows()
  const invite = (more?: object) => owner.post(`${path}/invitations/`, { email: 'c@example.com' }, more)
  t.match(await invite(), { status: 403, body: { code: 'approval_required' } })
  const accepted = await invite(later)
  t.match(accepted, { status: 202, body: { approval_request: { status: 'pending' } } })
  t.match(await rows(), {
    ...before,
    approval_requests: before.approval_requests! + 1,
    mails: before.mails! + 2,
    events: before.events! + 1,
    audit_log: before.audit_log! + 1,
  })
})

t.test('a limit that is used up refuses before an approval is asked for', async (t) => {
  const invite = (more?: object) =>
    owner.post(`${path}/invitations/`, { email: `${randomUUID()}@example.com` }, more)
  for (const _ of [1, 2]) {
    const body = { email: `${randomUUID()}@example.com` }
    const asked = await owner.post(`${path}/invitations/`, body)
    const { id } = asked.body.approval_request
    await expect(200, approve(approver, id))
    await expect(201, owner.post(`${path}/invitations/`, body, { headers: { 'approval-request': id } }))
  }
  const before = await rows()
  t.match(await invite(), { status: 409, body: { code: 'limit_reached' } })
  t.match(await invite(later), { status: 409, body: { code: 'limit_reached' } })
  t.same(await rows(), before)
})

t.test('what changed after the approval is checked when the change is made', async (t) => {
  const create = (who: Client, more?: object) => who.post(`${path}/roles/`, { name: 'Buyer' }, more)
  const ids: string[] = []
  for (const who of [owner, admin]) {
    const { id } = (await create(who)).body.approval_request
    await expect(200, approve(approver, id))
    ids.push(id)
  }
  const [first, second] = ids.map((id) => ({ headers: { 'approval-request': id } }))
  await expect(201, create(owner, first))
  t.match(await create(admin, second), { status: 409, body: { code: 'name_taken' } })
})

t.test('a password proves who calls, and is no part of what is approved', async (t) => {
  const key = { name: 'Laptop' }
  const keys = '/api/v1/users/me/keys/'
  const asked = await owner.post(keys, { ...key, current_password: owner.password })
  const { id } = asked.body.approval_request
  t.equal((await owner.post(keys, key)).body.approval_request.id, id, 'the same request')
  await expect(200, approve(approver, id))
  await expect(201, owner.post(keys, key, { headers: { 'approval-request': id } }))
})
