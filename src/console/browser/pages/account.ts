export { ProfilePage } from '../account/account-page.tsx'
export { SecurityPage } from '../account/security-page.tsx'
export { SessionsPage } from '../account/sessions-page.tsx'
