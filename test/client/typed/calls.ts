import {
  type Condition,
  createClient,
  type Event,
  keepFresh,
  type Policy,
  verifyWebhook,
} from '@bailiwick/client'

const credentials = keepFresh(pair, save)
const client = createClient({ url, credentials })
const path = { id }

const token: string = await credentials.fresh()
const questions = [
  { subject: { type: 'user', id }, action: { name: 'note:read' }, resource: { type: 'note', id } },
]
const answers = await client.call('POST /access/v1/evaluations', { body: { evaluations: questions } })
console.log(token, answers)

const roles: string[] = (await client.call('GET /users/me/')).roles
const stored = await client.callOrStore('DELETE /tenants/{id}/members/{mid}/', { path: { ...path, mid: id } })
if (stored) console.log(roles, stored.approval_request.url)

const own: Condition = { attribute: 'resource.owner_id', operator: 'eq', value_from: 'subject.id' }
const policy: Policy = await client.call('POST /policies/', {
  body: {
    name: 'Gate',
    effect: 'require_approval',
    actions: ['invoice:pay'],
    subjects: { roles: ['Clerk'] },
    conditions: { all: [own, { any: [{ attribute: 'resource.amount', operator: 'gt', value: 1_000 }] }] },
    approval: { quorum: 2, approver: { roles: ['owner'] } },
    obligations: [{ type: 'watermark', properties: { text: 'paid' } }],
  },
})
if (policy.conditions && 'all' in policy.conditions) console.log(policy.conditions.all.length)

function handle(event: Event): string | null {
  switch (event.type) {
    case 'identity.user_created':
      return event.data.email
    case 'tenant.member_removed':
      return event.data.user_id
    default:
      return null
  }
}
for await (const event of client.each('GET /events/')) handle(event)
handle(await verifyWebhook({ headers: {}, body: '', secret }))

const { allowed, effect, reasons, approval } = await client.decide(questions[0]!)
console.log(allowed, effect, reasons[0]?.code, approval?.path)
