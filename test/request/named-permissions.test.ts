import t from 'tap'
import { actionNames, isPermission } from '../../src/policy-engine/catalogue/actions.ts'
import { colleague } from '../helpers/colleague.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { expect, foundFirm } from '../tenancy/staff.ts'

const service = await sharedService(t)
const question = (id: string, action: string) => ({
  subject: { type: 'user', id },
  action: { name: action },
  resource: { type: 'invoice', id: '1' },
})

t.test('a refusal names the permission that is missing, in the sentence and in the reasons', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const refused = await member.post(`/api/v1/tenants/${owner.tenantId}/roles/`, { name: 'Clerk' })
  const message = 'None of your roles has the permission role:create.'
  t.match(refused, {
    status: 403,
    body: { detail: message, reasons: [{ code: 'missing_permission', message }] },
  })
  const others = "None of the subject's roles has the permission role:create."
  const answer = await owner.post('/access/v1/evaluation', question(member.id, 'invoice:approve'))
  t.match(answer.body.context.reasons, [
    { code: 'unknown_action' },
    { code: 'unknown_resource_type' },
    { message: "None of the subject's roles has the permission invoice:approve." },
  ])
  const { body: decisions } = await owner.get(`/api/v1/decisions/?subject_id=${member.id}&action=role:create`)
  t.match(decisions.results[0].reasons, [{ message: others }])
  const { body: explained } = await owner.get(`/api/v1/decisions/${decisions.results[0].id}/explain/`)
  t.match(explained.explanation[1], others)
  const { body: mine } = await member.get(`/api/v1/decisions/${decisions.results[0].id}/explain/`)
  t.match(mine.explanation[1], message)
  const about = await member.post('/access/v1/evaluation', question(member.id, 'invoice:approve'))
  t.match(about.body.context.reasons.at(-1), {
    message: 'None of your roles has the permission invoice:approve.',
  })
})

t.test('a list whose entries need another permission names both', async (t) => {
  const { hire, role } = await foundFirm(service)
  const lister = await hire('member', await role('policy:list'))
  t.match(await lister.get('/api/v1/policies/'), {
    status: 403,
    body: { detail: /the permission policy:read\. What this shows also needs policy:read\./ },
  })
})

t.test('a key whose scopes do not include an action names it', async (t) => {
  const owner = await service.signUp()
  const body = { name: 'robot', scopes: ['member:list'] }
  const { key } = await expect(201, owner.post('/api/v1/users/me/keys/', body))
  t.match(await service.call('GET', '/api/v1/webhooks/', { token: key }), {
    status: 403,
    body: {
      detail: 'The scopes of this key or token do not include webhook:list.',
      reasons: [{ code: 'scope_missing', message: /webhook:list/ }],
    },
  })
})

t.test('a grant that is refused names the role and the permission that the giver lacks', async (t) => {
  const { path, hire, role } = await foundFirm(service)
  const clerk = await hire('member', await role('invitation:create', 'member:create', 'member:update'))
  const signer = await role('report:sign')
  const invite = (roles: string[]) =>
    clerk.post(`${path}/invitations/`, { email: `${Date.now()}@example.com`, roles })
  t.match(await invite([signer]), {
    status: 403,
    body: {
      code: 'permission_denied',
      detail: `You cannot give a role that permits more than your own roles do: ${signer} has report:sign, which you lack.`,
    },
  })
  t.match(await invite(['admin']), {
    status: 403,
    body: { detail: /: admin has [a-z_]+:[a-z_]+, which you lack/ },
  })
  const peer = await hire('member', signer)
  t.match(await clerk.patch(`${path}/members/${peer.memberId}/`, { status: 'suspended' }), {
    status: 403,
    body: { detail: 'You cannot change a member who has permissions that you lack, such as report:sign.' },
  })
  const everything = await role(...actionNames.filter(isPermission))
  const almost = await hire('member', everything)
  const given = almost.post(`${path}/members/`, { user_id: (await service.signUp()).id, roles: ['admin'] })
  t.match(await given, {
    status: 403,
    body: { detail: /: admin has every permission of the applications, which you lack/ },
  })
})
