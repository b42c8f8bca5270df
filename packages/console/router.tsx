import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { prefix } from './api/client.ts'
import { Crashed, Missing, Root } from './frame/root.tsx'

// The pages of an area come in one file: fewer, larger files compress better, and the next page is there at once.
const loadOrganisation = () => import('./pages/organisation.ts')
const loadIntegrations = () => import('./pages/integrations.ts')
const loadRules = () => import('./pages/rules.ts')

const root = createRootRoute({ component: Root, notFoundComponent: Missing })
const getParentRoute = () => root

/** The filters, tab and cursor in an address are texts. */
const validateSearch = (search: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)]))

type Organisation = keyof Awaited<ReturnType<typeof loadOrganisation>>
type Integrations = keyof Awaited<ReturnType<typeof loadIntegrations>>
type Rules = keyof Awaited<ReturnType<typeof loadRules>>

const inOrganisation = <P extends string>(path: P, page: Organisation) =>
  createRoute({ getParentRoute, path, validateSearch, component: lazyRouteComponent(loadOrganisation, page) })
const inIntegrations = <P extends string>(path: P, page: Integrations) =>
  createRoute({ getParentRoute, path, validateSearch, component: lazyRouteComponent(loadIntegrations, page) })
const inRules = <P extends string>(path: P, page: Rules) =>
  createRoute({ getParentRoute, path, validateSearch, component: lazyRouteComponent(loadRules, page) })

export const router = createRouter({
  routeTree: root.addChildren([
    inOrganisation('/account', 'ProfilePage'),
    inOrganisation('/account/security', 'SecurityPage'),
    inOrganisation('/account/keys', 'KeysPage'),
    inOrganisation('/account/sessions', 'SessionsPage'),
    inOrganisation('/', 'Home'),
    inOrganisation('/organisation', 'OrganisationPage'),
    inOrganisation('/members', 'MembersPage'),
    inOrganisation('/invitations', 'InvitationsPage'),
    inIntegrations('/connections', 'ConnectionsPage'),
    inIntegrations('/connections/$id', 'ConnectionPage'),
    inIntegrations('/directory', 'DirectoryPage'),
    inIntegrations('/domains', 'DomainsPage'),
    inIntegrations('/domains/$id', 'DomainPage'),
    inIntegrations('/service-accounts', 'AccountsPage'),
    inIntegrations('/service-accounts/$id', 'AccountPage'),
    inIntegrations('/applications', 'ApplicationsPage'),
    inIntegrations('/applications/$id', 'ApplicationPage'),
    inOrganisation('/roles', 'RolesPage'),
    inOrganisation('/departments', 'DepartmentsPage'),
    inOrganisation('/approvals', 'ApprovalsPage'),
    inOrganisation('/approvals/$id', 'RequestPage'),
    inOrganisation('/audit', 'AuditPage'),
    inIntegrations('/webhooks', 'WebhooksPage'),
    inIntegrations('/webhooks/$id', 'WebhookPage'),
    inIntegrations('/events', 'EventsPage'),
    inRules('/policies', 'PoliciesPage'),
    inRules('/policies/$id', 'PolicyPage'),
    inRules('/playground', 'PlaygroundPage'),
    inRules('/attributes', 'AttributesPage'),
    inRules('/access', 'AccessPage'),
    inRules('/decisions', 'DecisionsPage'),
    inRules('/decisions/$id', 'DecisionPage'),
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
