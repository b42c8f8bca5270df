import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { prefix } from './api/client.ts'
import { Crashed, Missing, Root } from './frame/root.tsx'

// The pages of an area come in one file: fewer, larger files compress better, and the next page is there at once.
const loadAccount = () => import('./pages/account.ts')
const loadOrganisation = () => import('./pages/organisation.ts')
const loadRules = () => import('./pages/rules.ts')

const root = createRootRoute({ component: Root, notFoundComponent: Missing })
const getParentRoute = () => root

const home = createRoute({
  getParentRoute,
  path: '/',
  component: lazyRouteComponent(loadOrganisation, 'Home'),
})

const account = createRoute({
  getParentRoute,
  path: '/account',
  component: lazyRouteComponent(loadAccount, 'ProfilePage'),
})

const security = createRoute({
  getParentRoute,
  path: '/account/security',
  component: lazyRouteComponent(loadAccount, 'SecurityPage'),
})

const sessions = createRoute({
  getParentRoute,
  path: '/account/sessions',
  component: lazyRouteComponent(loadAccount, 'SessionsPage'),
})

const strings = (search: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)]))

const members = createRoute({
  getParentRoute,
  path: '/members',
  validateSearch: strings,
  component: lazyRouteComponent(loadOrganisation, 'MembersPage'),
})

const invitations = createRoute({
  getParentRoute,
  path: '/invitations',
  validateSearch: strings,
  component: lazyRouteComponent(loadOrganisation, 'InvitationsPage'),
})

const roles = createRoute({
  getParentRoute,
  path: '/roles',
  validateSearch: strings,
  component: lazyRouteComponent(loadOrganisation, 'RolesPage'),
})

const departments = createRoute({
  getParentRoute,
  path: '/departments',
  component: lazyRouteComponent(loadOrganisation, 'DepartmentsPage'),
})

const audit = createRoute({
  getParentRoute,
  path: '/audit',
  validateSearch: strings,
  component: lazyRouteComponent(loadOrganisation, 'AuditPage'),
})

const approvals = createRoute({
  getParentRoute,
  path: '/approvals',
  validateSearch: strings,
  component: lazyRouteComponent(loadOrganisation, 'ApprovalsPage'),
})

const request = createRoute({
  getParentRoute,
  path: '/approvals/$id',
  validateSearch: strings,
  component: lazyRouteComponent(loadOrganisation, 'RequestPage'),
})

const policies = createRoute({
  getParentRoute,
  path: '/policies',
  validateSearch: strings,
  component: lazyRouteComponent(loadRules, 'PoliciesPage'),
})

const policy = createRoute({
  getParentRoute,
  path: '/policies/$id',
  validateSearch: strings,
  component: lazyRouteComponent(loadRules, 'PolicyPage'),
})

const playground = createRoute({
  getParentRoute,
  path: '/playground',
  validateSearch: strings,
  component: lazyRouteComponent(loadRules, 'PlaygroundPage'),
})

const attributes = createRoute({
  getParentRoute,
  path: '/attributes',
  validateSearch: strings,
  component: lazyRouteComponent(loadRules, 'AttributesPage'),
})

const access = createRoute({
  getParentRoute,
  path: '/access',
  validateSearch: strings,
  component: lazyRouteComponent(loadRules, 'AccessPage'),
})

const decisions = createRoute({
  getParentRoute,
  path: '/decisions',
  validateSearch: strings,
  component: lazyRouteComponent(loadRules, 'DecisionsPage'),
})

const decision = createRoute({
  getParentRoute,
  path: '/decisions/$id',
  component: lazyRouteComponent(loadRules, 'DecisionPage'),
})

const webhooks = createRoute({
  getParentRoute,
  path: '/webhooks',
  validateSearch: strings,
  component: lazyRouteComponent(loadOrganisation, 'WebhooksPage'),
})

const webhook = createRoute({
  getParentRoute,
  path: '/webhooks/$id',
  validateSearch: strings,
  component: lazyRouteComponent(loadOrganisation, 'WebhookPage'),
})

const events = createRoute({
  getParentRoute,
  path: '/events',
  validateSearch: strings,
  component: lazyRouteComponent(loadOrganisation, 'EventsPage'),
})

const organisation = createRoute({
  getParentRoute,
  path: '/organisation',
  component: lazyRouteComponent(loadOrganisation, 'OrganisationPage'),
})

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    account,
    organisation,
    events,
    webhooks,
    webhook,
    security,
    sessions,
    members,
    invitations,
    roles,
    departments,
    audit,
    approvals,
    request,
    policies,
    policy,
    playground,
    attributes,
    access,
    decisions,
    decision,
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
