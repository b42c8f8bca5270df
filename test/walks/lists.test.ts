import t from 'tap'
import type { Route } from '../../src/request/route.ts'
import { listRoutes } from '../../src/start/app.ts'
import { sharedService } from '../helpers/shared-service.ts'

// Visits every list of the registry; new lists are included automatically.

const service = await sharedService(t)
const reads = listRoutes(service.deps, { ready: async () => undefined, drain() {} }).filter(
  ({ method, action }) => method === 'GET' && action !== 'public',
)

const isList = ({ answer }: Route) => 'results' in ((answer as { shape?: object } | null)?.shape ?? {})
const detailOf = ({ path }: Route) => {
  const parent = path.replace(/\/pending$/, '')
  const beyond = reads.filter((one) => !isList(one) && one.path.startsWith(`${parent}/:`))
  return beyond.find((one) => /^(\/:\w+)+$/.test(one.path.slice(parent.length)))
}

t.test('the rows of every list are decided by the action of their detail', async (t) => {
  const lists = reads.filter(isList)
  const decided = lists.flatMap((list) => {
    const detail = detailOf(list)
    const rows = list.readAction ?? list.action
    return detail ? [{ path: list.path, rows, detail: detail.action }] : []
  })
  t.same(
    decided.filter(({ rows, detail }) => rows !== detail),
    [{ path: '/api/v1/tenants', rows: 'tenant:list', detail: 'tenant:read' }],
    'but for the tenants of the caller, which are their own',
  )
  t.same(
    lists
      .filter((list) => !detailOf(list))
      .map(({ path }) => path)
      .sort(),
    [
      '/api/v1/audit-log',
      '/api/v1/auth/otp/devices',
      '/api/v1/auth/passkeys',
      '/api/v1/auth/sessions',
      '/api/v1/connections/:id/sign-ins',
      '/api/v1/directory/groups',
      '/api/v1/directory/log',
      '/api/v1/directory/rules',
      '/api/v1/domains/:id/loans',
      '/api/v1/events',
      '/api/v1/oauth-clients/:id/logouts',
      '/api/v1/oauth-clients/:id/secrets',
      '/api/v1/oauth-grants',
      '/api/v1/policies/:id/versions',
      '/api/v1/service-accounts/:id/keys',
      '/api/v1/service-accounts/:id/trusts',
      '/api/v1/users/me/authorizations',
      '/api/v1/users/me/identities',
      '/api/v1/users/me/invitations',
      '/api/v1/users/me/keys',
      '/api/v1/webhooks/:id/deliveries',
    ],
  )
})

t.test('what is read below a detail needs the action of the detail', async (t) => {
  // The tenant is the place of its members, roles, departments and invitations, which have actions of their own.
  const details = reads.filter(({ path }) => /\/:\w+$/.test(path) && path !== '/api/v1/tenants/:id')
  const below = details.flatMap((detail) =>
    reads
      .filter(({ path }) => path.startsWith(`${detail.path}/`))
      .map(({ path, action, readAction }) => ({ path, of: detail.action, asks: [action, readAction] })),
  )
  t.ok(below.length >= 5)
  t.same(
    below.filter(({ of, asks }) => !asks.includes(of)),
    [],
  )
})
