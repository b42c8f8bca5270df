import type { Tx } from '../../database/executor/transaction.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudits, changesBetween } from '../../messages/audit/append-audit.ts'
import { appendEvents } from '../../messages/outbox/append-event.ts'
import type { Joining } from './tenants-of-import.ts'

export interface Given {
  /** The name of the import: the ids of its rows are its own. */
  source: string
  requestInfo: RequestInfo
}

interface NewPerson {
  id: string
  email: string
  firstName: string
  lastName: string
  isVerified: boolean
}

interface Recorded {
  tenantId: string
  at: number
}

/** Events and audit rows of new people. */
export async function recordPeople(
  tx: Tx,
  { requestInfo }: Given,
  { tenantId, people, at }: Recorded & { people: readonly NewPerson[] },
): Promise<void> {
  const event = { tenantId, actorId: null, requestId: requestInfo.requestId, at }
  const verified = people.filter(({ isVerified }) => isVerified)
  const data = ({ id, email }: NewPerson) => ({ subject: id, data: { user_id: id, email } })
  await appendEvents(tx, { ...event, type: 'identity.user_created' }, people.map(data))
  await appendEvents(tx, { ...event, type: 'identity.email_verified' }, verified.map(data))
  const row = ({ id }: NewPerson) => ({
    tenantId,
    actor: null,
    requestInfo,
    target: { type: 'user', id },
    at,
  })
  appendAudits(tx, [
    ...people.map((one) => ({
      ...row(one),
      action: 'user:register' as const,
      changes: changesBetween(null, { email: one.email, first_name: one.firstName, last_name: one.lastName }),
    })),
    ...verified.map((one) => ({
      ...row(one),
      action: 'email_verification:confirm' as const,
      changes: { email_verified: { before: false, after: true } },
    })),
  ])
}

/** Events and audit rows of new memberships in a tenant. */
export async function recordMemberships(
  tx: Tx,
  { requestInfo }: Given,
  {
    tenantId,
    at,
    joined,
  }: Recorded & { joined: readonly { userId: string; memberId: string; joining: Joining }[] },
): Promise<void> {
  await appendEvents(
    tx,
    { tenantId, actorId: null, requestId: requestInfo.requestId, at, type: 'tenant.member_added' },
    joined.map(({ userId, memberId }) => ({
      subject: memberId,
      data: { membership_id: memberId, user_id: userId },
    })),
  )
  appendAudits(
    tx,
    joined.map(({ userId, memberId, joining: { roles, externalId } }) => ({
      tenantId,
      actor: null,
      requestInfo,
      action: 'member:create',
      target: { type: 'member', id: memberId },
      changes: changesBetween(null, {
        user_id: userId,
        roles: roles.map(({ name }) => name),
        ...(externalId !== null && { external_id: externalId }),
      }),
      at,
    })),
  )
}
