import { newPerson, register, tokenMailedTo } from './people.ts'
import type { Step } from './steps.ts'

/** A tenant with an owner, a member and an invited auditor. */
export const tenantSteps: readonly Step[] = [
  {
    title: 'Create a tenant',
    why: 'The person who creates a tenant owns it.',
    async take(walk) {
      const body = { name: 'Analytical Engines' }
      const call = { method: 'POST', path: '/api/v1/tenants/', as: 'ADA', body } as const
      const { id } = await walk.call(call, { status: 201, body: { ...body, my_roles: ['owner'] } })
      walk.facts.tenant = id
    },
  },
  {
    title: 'Switch to it',
    why: 'A token is for one tenant: see the new tenant_id. The tokens for the old tenant still work there.',
    async take(walk) {
      const body = { tenant_id: walk.facts.tenant }
      const call = { method: 'POST', path: '/api/v1/auth/switch-tenant/', as: 'ADA', body } as const
      const { access } = await walk.call(call, { status: 200 })
      walk.keepToken('ADA', access)
    },
  },
  {
    title: 'Register Bob',
    why: 'A later step denies him something.',
    take: (walk) => register(walk, 'bob', 'Bob', 'Babbage'),
  },
  {
    title: 'Add Bob as a plain member',
    why: 'Owners and admins can add members, but only with roles that permit no more than their own.',
    async take(walk) {
      const body = { user_id: walk.facts['bob.id'], roles: ['member'] }
      const call = {
        method: 'POST',
        path: `/api/v1/tenants/${walk.facts.tenant}/members/`,
        as: 'ADA',
        body,
      } as const
      const expected = { user_id: walk.facts['bob.id'], roles: ['member'] }
      const { id } = await walk.call(call, { status: 201, body: expected })
      walk.facts['bob.member'] = id
    },
  },
  {
    title: 'Log Bob in to that tenant',
    why: 'tenant_id is optional: without it, a sign-in leads to the tenant that the person used last.',
    async take(walk) {
      const { 'bob.email': email, 'bob.password': password, tenant } = walk.facts
      const body = { email, password, tenant_id: tenant }
      const call = { method: 'POST', path: '/api/v1/auth/login/', body } as const
      const { access } = await walk.call(call, { status: 200 })
      walk.keepToken('BOB', access)
    },
  },
  {
    title: 'Invite Carol, who has no account',
    why: 'A person is invited by address. Only her mail contains the token; the service stores a hash.',
    async take(walk) {
      const { email, password } = newPerson('Carol', 'Clerk')
      const path = `/api/v1/tenants/${walk.facts.tenant}/invitations/`
      const call = { method: 'POST', path, as: 'ADA', body: { email, roles: ['auditor'] } } as const
      await walk.call(call, { status: 201, body: { email, status: 'pending' } })
      const token = await tokenMailedTo(walk, email)
      Object.assign(walk.facts, { 'carol.token': token, 'carol.password': password })
    },
  },
  {
    title: 'Accept as Carol',
    why: 'One call creates her account, verifies her address, makes her a member and logs her in.',
    async take(walk) {
      const { 'carol.token': token, 'carol.password': password, tenant } = walk.facts
      const body = { token, password, first_name: 'Carol', last_name: 'Clerk' }
      const call = { method: 'POST', path: '/api/v1/invitations/accept/', body } as const
      const { access } = await walk.call(call, { status: 200, body: { tenant: { id: tenant } } })
      walk.keepToken('CAROL', access)
    },
  },
]
