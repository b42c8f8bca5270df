import t from 'tap'
import { openAccessEngine } from '../../src/policy-engine/evaluate/engine.ts'
import { built, question } from './stage.ts'

const engine = await openAccessEngine()
const own = { attribute: 'subject.id', operator: 'eq', value: 'alice' }
const admin = { attribute: 'subject.role', operator: 'eq', value: 'admin' }
const active = { attribute: 'resource.status', operator: 'eq', value: 'active' }
const soft = { attribute: 'action.soft', operator: 'eq', value: true }

// The fixture of the certification draft of AuthZEN 1.0, as four policies of a tenant.
const policies = built(
  [
    {
      effect: 'allow',
      actions: ['record:read'],
      conditions: { any: [own, { attribute: 'subject.id', operator: 'eq', value: 'bob' }] },
    },
    { effect: 'allow', actions: ['record:write'], conditions: { all: [own, active] } },
    { effect: 'allow', actions: ['record:write'], conditions: admin },
    { effect: 'allow', actions: ['record:delete'], conditions: { all: [own, soft] } },
  ],
  { 'subject.role': 'string', 'action.soft': 'boolean' },
)
const status: Record<string, string> = { 'record-1': 'active', 'record-2': 'archived' }

function decided(
  subject: string,
  verb: string,
  record: string,
  sent: { subject?: object; action?: object } = {},
): boolean {
  const action = `record:${verb}` as const
  const chosen = policies.filter(({ compiled }) => compiled.actions.includes(action))
  const asked = question(chosen, { ...sent, resource: { status: status[record] } } as never)
  const stranger = { ...asked.subject, type: 'customer', id: subject, email: null, membership: null }
  const resource = { type: 'record', id: record, tenantId: 'tenant', ownerId: null }
  return engine.decide({ ...asked, subject: stranger, action, resource }).effect === 'allow'
}

t.test('the certification fixture gets the required decisions', async (t) => {
  t.equal(decided('alice', 'read', 'record-1'), true)
  t.equal(decided('alice', 'write', 'record-1'), true)
  t.equal(decided('bob', 'read', 'record-1'), true)
  t.equal(decided('bob', 'write', 'record-1'), false)
  t.equal(decided('alice', 'write', 'record-2'), false)
  t.equal(decided('bob', 'write', 'record-2', { subject: { role: 'admin' } }), true)
  t.equal(decided('alice', 'delete', 'record-1', { action: { soft: true } }), true)
  t.equal(decided('alice', 'delete', 'record-1', { action: { soft: false } }), false)
  t.equal(decided('alice', 'delete', 'record-1'), false)
  t.equal(decided('mallory', 'read', 'record-1'), false)
})
