export { ApprovalsPage } from '../approvals/approvals-page.tsx'
export { RequestPage } from '../approvals/request-page.tsx'
export { AuditPage } from '../audit/audit-page.tsx'
