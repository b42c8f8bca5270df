import type { Step } from './steps.ts'

/** What the policies allow, what they deny and why, and what another tenant looks like from outside. */
export const isolationSteps: readonly Step[] = [
  {
    title: 'Something that the policies allow Bob',
    why: 'The policies decide every request before its handler runs. A member can list the members.',
    async take(walk) {
      const path = `/api/v1/tenants/${walk.facts.tenant}/members/`
      await walk.call({ method: 'GET', path, as: 'BOB' }, { status: 200, body: { count: 3 } })
    },
  },
  {
    title: 'Something that they deny him',
    why: 'A denial has an id. It names each reason, and the layer of the policies that the reason comes from.',
    async take(walk) {
      const path = `/api/v1/tenants/${walk.facts.tenant}/members/`
      const body = { user_id: walk.facts['ada.id'] }
      const answer = await walk.call(
        { method: 'POST', path, as: 'BOB', body },
        { status: 403, body: { code: 'permission_denied', reasons: [{ code: 'missing_permission' }] } },
      )
      walk.facts.decision = answer.decision_id
    },
  },
  {
    title: "Ada's own tenant, as Bob sees it",
    why: 'An object of another tenant is answered as if it did not exist. Postgres does not return its rows either.',
    async take(walk) {
      const path = `/api/v1/tenants/${walk.facts['ada.home']}/`
      await walk.call({ method: 'GET', path, as: 'BOB' }, { status: 404, body: { code: 'not_found' } })
    },
  },
  {
    title: 'Carol, the auditor, reads who did what',
    why: 'The transaction of each change also wrote an audit row: who, from where, and by which decision.',
    async take(walk) {
      const call = { method: 'GET', path: '/api/v1/audit-log/?page_size=4', as: 'CAROL' } as const
      await walk.call(call, { status: 200 })
    },
  },
  {
    title: 'Have events sent to a URL',
    why: 'Events are signed, in order, and repeated until they are accepted. The secret is shown once. This webhook is inactive.',
    async take(walk) {
      const body = { url: 'https://receiver.example/events', event_types: ['tenant.*'], is_active: false }
      const call = { method: 'POST', path: '/api/v1/webhooks/', as: 'ADA', body } as const
      await walk.call(call, { status: 201, body: { ...body, disabled_reason: null } })
    },
  },
  {
    title: 'Let a program in',
    why: 'A service account is a member without a person. Its key is shown once; scopes limit it. The program signs in with it.',
    async take(walk) {
      const account = { name: 'nightly-report', roles: ['auditor'] }
      const create = { method: 'POST', path: '/api/v1/service-accounts/', as: 'ADA', body: account } as const
      const { id } = await walk.call(create, { status: 201, body: { ...account, status: 'active' } })
      const body = { name: 'server 1', scopes: ['event:list', 'member:list'] }
      const path = `/api/v1/service-accounts/${id}/keys/`
      const { key } = await walk.call({ method: 'POST', path, as: 'ADA', body }, { status: 201, body })
      walk.keepKey('PROGRAM', key)
      const profile = { id, type: 'service_account', permissions: ['event:list', 'member:list'] }
      const me = { method: 'GET', path: '/api/v1/users/me/', as: 'PROGRAM' } as const
      await walk.call(me, { status: 200, body: profile })
    },
  },
  {
    title: 'The program reads what happened',
    why: 'Each event has a sequence number in its tenant. Store the last number, and continue with ?after=<number>.',
    async take(walk) {
      const call = { method: 'GET', path: '/api/v1/events/?after=0&page_size=2', as: 'PROGRAM' } as const
      const first = [{ type: 'tenant.tenant_created', sequence: 1, tenantid: walk.facts.tenant }]
      await walk.await(call, { status: 200, body: { results: first } }, ({ results }) => results.length === 2)
      await walk.call({ ...call, path: '/api/v1/events/?after=2&page_size=2' }, { status: 200 })
      const log = { method: 'GET', path: '/api/v1/audit-log/', as: 'PROGRAM' } as const
      await walk.call(log, { status: 403, body: { reasons: [{ code: 'scope_missing' }] } })
    },
  },
  {
    title: 'Log Bob out',
    why: 'The session ends in the database, so his token stops working at once, not in 15 minutes.',
    async take(walk) {
      const logout = { method: 'POST', path: '/api/v1/auth/logout/', as: 'BOB' } as const
      await walk.call(logout, { status: 200, body: { message: 'Logged out' } })
      const me = { method: 'GET', path: '/api/v1/users/me/', as: 'BOB' } as const
      await walk.call(me, { status: 401, body: { code: 'session_revoked' } })
    },
  },
]
