import type { Step } from './steps.ts'

/** What policy allows, what it denies and why, and what another tenant looks like from outside. */
export const isolationSteps: readonly Step[] = [
  {
    title: 'Something policy allows Bob',
    why: 'Every request is decided by the policies before its handler runs; a member may see the members.',
    async take(walk) {
      const path = `/api/v1/tenants/${walk.facts.tenant}/members/`
      await walk.call({ method: 'GET', path, as: 'BOB' }, { status: 200, body: { count: 3 } })
    },
  },
  {
    title: 'Something policy denies him',
    why: 'A denial has an id, and names its reasons and the layer of the policies each comes from.',
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
    why: 'What is in another tenant answers like what does not exist; Postgres would give no row of it either.',
    async take(walk) {
      const path = `/api/v1/tenants/${walk.facts['ada.home']}/`
      await walk.call({ method: 'GET', path, as: 'BOB' }, { status: 404, body: { code: 'not_found' } })
    },
  },
  {
    title: 'Who did what, as Carol the auditor reads it',
    why: 'Each change left a line in the transaction that made it: by whom, from where, and by which decision.',
    async take(walk) {
      const call = { method: 'GET', path: '/api/v1/audit-log/?page_size=4', as: 'CAROL' } as const
      await walk.call(call, { status: 200 })
    },
  },
  {
    title: 'What happened, as programs read it',
    why: 'Each event has its place in the sequence of the tenant. Keep the last, and ask again with it as after.',
    async take(walk) {
      const call = { method: 'GET', path: '/api/v1/events/?after=0&page_size=2', as: 'CAROL' } as const
      const first = [{ type: 'tenant.tenant_created', sequence: 1, tenantid: walk.facts.tenant }]
      await walk.await(call, { status: 200, body: { results: first } }, ({ results }) => results.length === 2)
      await walk.call({ ...call, path: '/api/v1/events/?after=2&page_size=2' }, { status: 200 })
    },
  },
  {
    title: 'Have events sent to a URL',
    why: 'Signed, in order, again until they are taken. The secret is told once; this one is not switched on.',
    async take(walk) {
      const body = { url: 'https://receiver.example/events', event_types: ['tenant.*'], is_active: false }
      const call = { method: 'POST', path: '/api/v1/webhooks/', as: 'ADA', body } as const
      await walk.call(call, { status: 201, body: { ...body, disabled_reason: null } })
    },
  },
  {
    title: 'Log Bob out',
    why: 'The session ends in the database, so the token he still holds is dead at once, not in 15 minutes.',
    async take(walk) {
      const logout = { method: 'POST', path: '/api/v1/auth/logout/', as: 'BOB' } as const
      await walk.call(logout, { status: 200, body: { message: 'Logged out' } })
      const me = { method: 'GET', path: '/api/v1/users/me/', as: 'BOB' } as const
      await walk.call(me, { status: 401, body: { code: 'session_revoked' } })
    },
  },
]
