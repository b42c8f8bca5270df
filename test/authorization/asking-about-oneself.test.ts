import t from 'tap'
import type { Client } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { createOwnKey, createProgram } from '../identity/api-keys/holders.ts'
import { expect, foundFirm } from '../tenancy/staff.ts'

const service = await sharedService(t)
const evaluation = '/access/v1/evaluation'

const question = (type: string, id: string, action = 'invoice:read') => ({
  subject: { type, id },
  action: { name: action },
  resource: { type: 'invoice', id: '7' },
})

/** What the four ways to ask about a subject answer: two decisions, and whether the searches find the invoice and the verb. */
async function ask(asking: Pick<Client, 'post'>, type: string, id: string) {
  const asked = question(type, id)
  const { subject, action, resource } = asked
  const candidates = { type: 'invoice', candidates: [{ id: '7' }] }
  const post = async (path: string, body: object) => expect(200, asking.post(path, body))
  const batch = await post('/access/v1/evaluations', { subject, evaluations: [{ action, resource }] })
  const found = await post('/access/v1/search/resource', { subject, action, resource: candidates })
  const verbs = await post('/access/v1/search/action', { subject, resource })
  return [
    (await post(evaluation, asked)).decision,
    batch.evaluations[0].decision,
    found.results.length === 1,
    verbs.results.some(({ name }: { name: string }) => name === 'read'),
  ]
}
const yes = [true, true, true, true]
const no = [false, false, false, false]

t.test('a member with only a role of an application asks about themselves', async (t) => {
  const { owner, role, hire } = await foundFirm(service)
  const clerk = await hire(await role('invoice:read'))
  t.same(await ask(clerk, 'user', clerk.id), yes)
  t.equal(
    (await expect(200, clerk.post(evaluation, question('user', clerk.id, 'invoice:pay')))).decision,
    false,
  )
  t.match(await clerk.post(evaluation, question('user', owner.id)), {
    status: 403,
    body: { code: 'permission_denied', reasons: [{ code: 'not_owner' }] },
  })
  const { subject, action } = question('user', owner.id)
  for (const [path, body] of [
    ['resource', { subject, action, resource: { type: 'invoice' } }],
    ['action', { subject, resource: { type: 'invoice', id: '7' } }],
    ['subject', { subject: { type: 'user' }, action, resource: { type: 'invoice', id: '7' } }],
  ] as const)
    t.equal((await clerk.post(`/access/v1/search/${path}`, body)).status, 403, path)
  t.same(await ask(await hire('auditor'), 'user', clerk.id).catch(() => 'refused'), 'refused')
})

t.test('a service account asks about itself, and its keys within their scopes', async (t) => {
  const { owner, role, hire } = await foundFirm(service)
  const reader = await role('invoice:read')
  const full = await createProgram(service, owner, [reader])
  t.same(await ask(full, 'service_account', full.accountId), yes)
  const scoped = await createProgram(service, owner, [reader], { scopes: ['invoice:read'] })
  t.same(await ask(scoped, 'service_account', scoped.accountId), yes)
  const other = await createProgram(service, owner, [reader], { scopes: ['invoice:pay'] })
  t.same(await ask(other, 'service_account', other.accountId), no)
  t.match(await scoped.post(evaluation, question('service_account', full.accountId)), {
    status: 403,
    body: { reasons: [{ code: 'scope_missing' }] },
  })

  const clerk = await hire(reader)
  const personal = await createOwnKey(service, clerk, { scopes: ['invoice:read'] })
  t.same(await ask(personal, 'user', clerk.id), yes)
  const ofOwner = await createOwnKey(service, owner, { scopes: ['invoice:read'] })
  t.same(await ask(ofOwner, 'user', owner.id), yes)
  t.match(await ofOwner.post(evaluation, question('user', clerk.id)), {
    status: 403,
    body: { reasons: [{ code: 'scope_missing' }] },
  })
  const about = { evaluations: [question('user', owner.id), question('user', clerk.id)] }
  t.match(await expect(200, ofOwner.post('/access/v1/evaluations', about)), {
    evaluations: [{ decision: true }, { decision: false, context: { error: { status: 403 } } }],
  })
})

t.test('only an active member asks, and a policy can forbid it', async (t) => {
  const { owner, path, role, hire } = await foundFirm(service)
  const reader = await role('invoice:read')
  const clerk = await hire(reader)
  const deny = {
    name: 'No questions',
    effect: 'deny',
    actions: ['access:evaluate'],
    subjects: { roles: [reader] },
  }
  const { id } = await expect(201, owner.post('/api/v1/policies/', deny))
  t.match(await clerk.post(evaluation, question('user', clerk.id)), {
    status: 403,
    body: { reasons: [{ code: 'policy_deny' }] },
  })
  await expect(204, owner.delete(`/api/v1/policies/${id}/`))
  await expect(200, owner.put(`${path}/members/${clerk.memberId}/`, { status: 'suspended' }))
  t.match(await clerk.post(evaluation, question('user', clerk.id)), {
    status: 403,
    body: { code: 'no_active_membership' },
  })
})
