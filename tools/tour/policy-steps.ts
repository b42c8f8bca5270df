import type { Step } from './steps.ts'

const policies = '/api/v1/policies/'
const departments = (tenant: string | undefined) => `/api/v1/tenants/${tenant}/departments/`

/** A policy of the tenant: written, tested and explained, and then one that asks for an approval. */
export const policySteps: readonly Step[] = [
  {
    title: 'Define an attribute',
    why: 'Conditions compare typed attributes: built-in ones, and those that a tenant defines.',
    async take(walk) {
      const body = { category: 'subject', key: 'clearance', data_type: 'integer' }
      const call = { method: 'POST', path: '/api/v1/attribute-definitions/', as: 'ADA', body } as const
      await walk.call(call, { status: 201, body })
    },
  },
  {
    title: 'Write a policy',
    why: 'Members cannot create departments. This policy allows it for members with clearance 3 or more.',
    async take(walk) {
      const conditions = { attribute: 'subject.clearance', operator: 'gte', value: 3 }
      const body = {
        name: 'Cleared members create departments',
        effect: 'allow',
        actions: ['department:create'],
        conditions,
      }
      const call = { method: 'POST', path: policies, as: 'ADA', body } as const
      const { id } = await walk.call(call, { status: 201, body: { version: 1, is_active: true } })
      walk.facts.policy = id
    },
  },
  {
    title: 'Test it for Bob',
    why: 'A test changes nothing. Its trace says which condition held, with the values that were compared.',
    async take(walk) {
      const path = `${policies}${walk.facts.policy}/test/`
      const body = {
        subject: { id: walk.facts['bob.id'] },
        action: 'department:create',
        resource: { type: 'department' },
      }
      const expected = { effect: 'deny', applies: false, missing_attributes: ['subject.clearance'] }
      await walk.call({ method: 'POST', path, as: 'ADA', body }, { status: 200, body: expected })
    },
  },
  {
    title: 'Bob is denied, and asks why',
    why: 'Everyone can ask why they were denied. The answer leaves out data of other people.',
    async take(walk) {
      const call = {
        method: 'POST',
        path: departments(walk.facts.tenant),
        as: 'BOB',
        body: { name: 'Looms' },
      } as const
      const denied = await walk.call(call, { status: 403, body: { code: 'permission_denied' } })
      const path = `/api/v1/decisions/${denied.decision_id}/explain/`
      await walk.call({ method: 'GET', path, as: 'BOB' }, { status: 200, body: { effect: 'deny' } })
    },
  },
  {
    title: 'Give Bob clearance, and require an approval for the same action',
    why: 'Both take effect at his next request. The second policy needs the approval of another person.',
    async take(walk) {
      const path = `/api/v1/tenants/${walk.facts.tenant}/members/${walk.facts['bob.member']}/`
      const attributes = { clearance: 3 }
      await walk.call(
        { method: 'PUT', path, as: 'ADA', body: { attributes } },
        { status: 200, body: { attributes } },
      )
      const body = {
        name: 'Departments need an approval',
        effect: 'require_approval',
        actions: ['department:create'],
      }
      await walk.call({ method: 'POST', path: policies, as: 'ADA', body }, { status: 201 })
    },
  },
  {
    title: 'Bob asks, Ada approves, Bob repeats the call',
    why: 'The approval is for this person, this action and exactly this body. It works once.',
    async take(walk) {
      const call = {
        method: 'POST',
        path: departments(walk.facts.tenant),
        as: 'BOB',
        body: { name: 'Looms' },
      } as const
      const asked = await walk.call(call, { status: 403, body: { code: 'approval_required' } })
      const { id } = asked.approval_request
      const approve = { method: 'POST', path: `/api/v1/approval-requests/${id}/approve/`, as: 'ADA' } as const
      await walk.call(approve, { status: 200, body: { status: 'approved' } })
      await walk.call({ ...call, approval: id }, { status: 201, body: { name: 'Looms' } })
      await walk.call({ ...call, approval: id }, { status: 403, body: { code: 'approval_invalid' } })
    },
  },
  {
    title: 'An application asks, Carol approves, the application acts once',
    why: 'The same for actions of an application. It consumes the approval for one operation of its own, then acts.',
    async take(walk) {
      const gate = {
        name: 'Payments need an approval',
        effect: 'require_approval',
        actions: ['invoice:pay'],
        approval: { approver: { roles: ['auditor'] } },
      }
      await walk.call({ method: 'POST', path: policies, as: 'ADA', body: gate }, { status: 201 })
      const question = { action: 'invoice:pay', resource: { type: 'invoice', id: '4711' } }
      const requests = '/api/v1/approval-requests/'
      const ask = { method: 'POST', path: requests, as: 'ADA', body: question } as const
      const { id } = await walk.call(ask, { status: 201, body: { kind: 'application', status: 'pending' } })
      const approve = { method: 'POST', path: `${requests}${id}/approve/`, as: 'CAROL' } as const
      await walk.call(approve, { status: 200, body: { status: 'approved' } })
      const subject = { type: 'user', id: walk.facts['ada.id'] }
      const asked = { ...question, subject, action: { name: question.action } }
      const evaluate = { method: 'POST', path: '/access/v1/evaluation', as: 'ADA', body: asked } as const
      await walk.call(evaluate, {
        status: 200,
        body: { decision: true, context: { approval_request: { id } } },
      })
      const consume = { method: 'POST', path: `${requests}${id}/consume/`, as: 'ADA' } as const
      const body = { operation_id: 'transfer 1' }
      await walk.call({ ...consume, body }, { status: 200, body: { status: 'executed' } })
      const again = { ...consume, body: { operation_id: 'transfer 2' } }
      await walk.call(again, { status: 409, body: { code: 'invalid_state' } })
    },
  },
]
