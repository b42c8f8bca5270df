import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { accountLinks, endTokensOf } from '../../messages/links/link-store.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import type { Caller } from '../../request/caller.ts'
import { listMembershipsOf } from '../../tenancy/members/store.ts'
import { revokeKeysOf } from '../api-keys/store.ts'
import { endSessions } from '../sessions/end-session.ts'
import { endOtherFamilies } from '../sessions/family-store.ts'
import { lockSession } from '../sessions/store.ts'
import { notifyPerson } from '../users/notify-people.ts'
import { countWaysIn } from '../users/store.ts'

interface PasswordChange {
  userId: string
  firstName: string
  /** The tenant that gets the events and the mail. */
  tenantId: string
  /** What does not end: of all sessions this one, and of it this chain. */
  kept: Pick<Caller, 'sessionId' | 'familyId'> | null
  /** The mailbox alone proved the address first, so the account starts anew. */
  firstProof?: { hasPassword: boolean }
  /** Also revokes the person's API keys. */
  revokeKeys?: boolean
  /** An operator set the password, so the events have no actor. */
  bySystem?: boolean
  requestInfo: RequestInfo
  at: number
}

/**
 * Ends the other sessions and chains, and the links that open the account, appends the events and mails the owner, in the transaction that
 * sets the password. As the system role.
 */
export async function finishPasswordChange(
  deps: Pick<Deps, 'sealer'>,
  tx: Tx,
  changed: PasswordChange,
): Promise<void> {
  const { userId, firstName, tenantId, kept, bySystem, firstProof, requestInfo, at } = changed
  const { revokeKeys = false } = changed
  const { requestId } = requestInfo
  const actorId = bySystem ? null : userId
  await endTokensOf(tx, { userId, purposes: accountLinks, at })
  if (revokeKeys) revokeKeysOf(tx, { userId, at })
  await endSessions(tx, {
    userId,
    exceptId: kept?.sessionId ?? null,
    reason: 'password',
    tenantId,
    actorId,
    requestId,
    at,
  })
  if (kept) await endCopies(tx, kept, at)
  await appendEvent(tx, {
    type: 'identity.password_changed',
    tenantId,
    subject: userId,
    data: { user_id: userId },
    actorId,
    requestId,
    at,
  })
  const notice = { tenantId, requestInfo, at }
  if (firstProof) {
    // The name is from before: another person can have given it.
    const byOperator = bySystem === true
    const variables = { firstName: '', byOperator, ...firstProof, ...(await namesOfTenants(tx, userId)) }
    await notifyPerson(tx, deps.sealer, userId, { ...notice, template: 'account_cleared', variables })
  } else
    await notifyPerson(tx, deps.sealer, userId, {
      ...notice,
      template: 'password_changed',
      variables: { firstName, keysRevoked: revokeKeys, ...(await countWaysIn(tx, userId, at)) },
    })
}

/** A copy of an access token can have begun the other chains of the session that stays. */
async function endCopies(
  tx: Tx,
  { sessionId, familyId: keptId }: Pick<Caller, 'sessionId' | 'familyId'>,
  at: number,
): Promise<void> {
  if (await lockSession(tx, { id: sessionId, at })) endOtherFamilies(tx, { sessionId, keptId, at })
}

/** So many tenants a mail names. */
const maxNamed = 20

async function namesOfTenants(tx: Tx, userId: string): Promise<{ tenants: string[]; others: number }> {
  const names = (await listMembershipsOf(tx, userId)).map(({ tenant_name }) => tenant_name)
  return { tenants: names.slice(0, maxNamed), others: Math.max(0, names.length - maxNamed) }
}
