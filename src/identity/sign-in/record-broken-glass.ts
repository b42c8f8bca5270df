import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import { listOwnerAddresses } from '../../tenancy/members/person-store.ts'
import type { Membership } from '../../tenancy/members/store.ts'

interface Entry {
  user: { id: string; email: string }
  sessionId: string
  membership: Membership
  requestInfo: RequestInfo
  /** ms since 1970 */
  at: number
}

/** Records that an owner entered a tenant with `sso: required` by password and second factor, and mails all owners. As the system role. */
export async function recordBrokenGlass(
  { sealer }: Pick<Deps, 'sealer'>,
  tx: Tx,
  { user, sessionId, membership, requestInfo, at }: Entry,
): Promise<void> {
  const { tenant_id: tenantId, tenant_name: tenantName } = membership
  await appendAudit(tx, {
    tenantId,
    actor: user,
    requestInfo,
    action: 'session:break_glass',
    target: { type: 'session', id: sessionId },
    at,
  })
  const variables = { tenantName, owner: user.email, ip: requestInfo.ip, at }
  for (const to of await listOwnerAddresses(tx, tenantId))
    await sendMail(tx, sealer, { tenantId, to, template: 'glass_broken', variables, requestInfo, at })
}
