export { DepartmentsPage } from '../departments/departments-page.tsx'
export { InvitationsPage } from '../invitations/invitations-page.tsx'
export { MembersPage } from '../members/members-page.tsx'
export { RolesPage } from '../roles/roles-page.tsx'
