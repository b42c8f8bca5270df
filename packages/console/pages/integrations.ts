// The pages of programs: what they sign in with, and what they are told.

export { AccountPage } from '../accounts/account-page.tsx'
export { AccountsPage } from '../accounts/accounts-page.tsx'
export { ApplicationPage } from '../applications/application-page.tsx'
export { ApplicationsPage } from '../applications/applications-page.tsx'
export { EventsPage } from '../events/events-page.tsx'
export { WebhookPage } from '../webhooks/webhook-page.tsx'
export { WebhooksPage } from '../webhooks/webhooks-page.tsx'
