import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router'
import { prefix } from './api/client.ts'
import { Crashed, Missing, Root } from './frame/root.tsx'

const root = createRootRoute({ component: Root, notFoundComponent: Missing })
const getParentRoute = () => root

const home = createRoute({
  getParentRoute,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/account', replace: true })
  },
})

const account = createRoute({
  getParentRoute,
  path: '/account',
  component: lazyRouteComponent(() => import('./account/account-page.tsx'), 'ProfilePage'),
})

const security = createRoute({
  getParentRoute,
  path: '/account/security',
  component: lazyRouteComponent(() => import('./account/security-page.tsx'), 'SecurityPage'),
})

const sessions = createRoute({
  getParentRoute,
  path: '/account/sessions',
  component: lazyRouteComponent(() => import('./account/sessions-page.tsx'), 'SessionsPage'),
})

const strings = (search: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)]))

const members = createRoute({
  getParentRoute,
  path: '/members',
  validateSearch: strings,
  component: lazyRouteComponent(() => import('./members/members-page.tsx'), 'MembersPage'),
})

const invitations = createRoute({
  getParentRoute,
  path: '/invitations',
  validateSearch: strings,
  component: lazyRouteComponent(() => import('./invitations/invitations-page.tsx'), 'InvitationsPage'),
})

const roles = createRoute({
  getParentRoute,
  path: '/roles',
  validateSearch: strings,
  component: lazyRouteComponent(() => import('./roles/roles-page.tsx'), 'RolesPage'),
})

const departments = createRoute({
  getParentRoute,
  path: '/departments',
  component: lazyRouteComponent(() => import('./departments/departments-page.tsx'), 'DepartmentsPage'),
})

const audit = createRoute({
  getParentRoute,
  path: '/audit',
  validateSearch: strings,
  component: lazyRouteComponent(() => import('./audit/audit-page.tsx'), 'AuditPage'),
})

const approvals = createRoute({
  getParentRoute,
  path: '/approvals',
  validateSearch: strings,
  component: lazyRouteComponent(() => import('./approvals/approvals-page.tsx'), 'ApprovalsPage'),
})

const request = createRoute({
  getParentRoute,
  path: '/approvals/$id',
  validateSearch: strings,
  component: lazyRouteComponent(() => import('./approvals/request-page.tsx'), 'RequestPage'),
})

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    account,
    security,
    sessions,
    members,
    invitations,
    roles,
    departments,
    audit,
    approvals,
    request,
  ]),
  basepath: `${prefix}/console`,
  trailingSlash: 'preserve',
  defaultErrorComponent: Crashed,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
