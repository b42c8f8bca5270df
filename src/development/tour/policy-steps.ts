import type { Step } from './steps.ts'

const policies = '/api/v1/policies/'
const departments = (tenant: string | undefined) => `/api/v1/tenants/${tenant}/departments/`

/** A policy of the tenant's own: written, tried, missed, explained, and then one that asks for an approval. */
export const policySteps: readonly Step[] = [
  {
    title: 'Define an attribute',
    why: 'Conditions compare typed attributes: those built in, and those a tenant defines.',
    async take(walk) {
      const body = { category: 'subject', key: 'clearance', data_type: 'integer' }
      const call = { method: 'POST', path: '/api/v1/attribute-definitions/', as: 'ADA', body } as const
      await walk.call(call, { status: 201, body })
    },
  },
  {
    title: 'Write a policy',
    why: 'Members found no departments; this allows it to those whose clearance is 3 or more.',
    async take(walk) {
      const conditions = { attribute: 'subject.clearance', operator: 'gte', value: 3 }
      const body = {
        name: 'Cleared people found',
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
    title: 'Try it on Bob before anybody meets it',
    why: 'A test writes nothing; its trace says which condition held, with the values that were compared.',
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
    title: 'Bob is denied, and reads why',
    why: 'Everybody may ask why they were denied; what belongs to others is left out of the answer.',
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
    title: 'Give Bob clearance, and gate the same action',
    why: 'Both count at his next request. A gate lets nobody pass without the approval of somebody else.',
    async take(walk) {
      const path = `/api/v1/tenants/${walk.facts.tenant}/members/${walk.facts['bob.member']}/`
      const attributes = { clearance: 3 }
      await walk.call(
        { method: 'PUT', path, as: 'ADA', body: { attributes } },
        { status: 200, body: { attributes } },
      )
      const body = {
        name: 'Departments are agreed on',
        effect: 'require_approval',
        actions: ['department:create'],
      }
      await walk.call({ method: 'POST', path: policies, as: 'ADA', body }, { status: 201 })
    },
  },
  {
    title: 'Bob asks, Ada approves, Bob repeats the call',
    why: 'The approval is for this person, this action and this very body, and is used up with its effect.',
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
]
