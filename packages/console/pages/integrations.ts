// The pages of what the organisation connects: programs, and where its people come from.

export { AccountPage } from '../accounts/account-page.tsx'
export { AccountsPage } from '../accounts/accounts-page.tsx'
export { ApplicationPage } from '../applications/application-page.tsx'
export { ApplicationsPage } from '../applications/applications-page.tsx'
export { ConnectionPage } from '../connections/connection-page.tsx'
export { ConnectionsPage } from '../connections/connections-page.tsx'
export { DirectoryPage } from '../directory/directory-page.tsx'
export { DomainPage } from '../domains/domain-page.tsx'
export { DomainsPage } from '../domains/domains-page.tsx'
export { EventsPage } from '../events/events-page.tsx'
export { WebhookPage } from '../webhooks/webhook-page.tsx'
export { WebhooksPage } from '../webhooks/webhooks-page.tsx'
