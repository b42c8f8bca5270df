import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { deadLink, findLink, spendLink } from '../../messages/links/one-time-link.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { revokeKeysOf } from '../api-keys/store.ts'
import { endSessions } from '../sessions/end-session.ts'
import { lockUser } from '../users/store.ts'
import { deleteIdentity } from './store.ts'

/**
 * Unlinks the identity that a mailed link names, once. Ends all sessions of its person and revokes their keys: another person
 * could have signed in. 400 `token_invalid`, also if the identity is gone; `token_expired` if the token is only too old.
 */
export async function undoLink(deps: Deps, requestInfo: RequestInfo, token: string): Promise<void> {
  const at = deps.clock()
  const { requestId } = requestInfo
  await asSystem(deps.db, 'the holder of the link need not be logged in', async (tx) => {
    const link = await findLink(tx, { purpose: 'identity_undo', token, at })
    const { userId, tenantId, email, targetId } = link
    const user = await lockUser(tx, userId)
    await spendLink(tx, link)
    const identity = targetId === null ? null : await deleteIdentity(tx, { userId, id: targetId })
    if (!user || !identity || targetId === null) throw deadLink()
    const { provider } = identity
    await appendEvent(tx, {
      type: 'identity.identity_unlinked',
      tenantId,
      subject: userId,
      data: { user_id: userId, identity_id: targetId, provider },
      actorId: userId,
      requestId,
      at,
    })
    await appendAudit(tx, {
      tenantId,
      actor: { id: userId, email },
      requestInfo,
      action: 'identity:undo',
      target: { type: 'user', id: userId },
      changes: { identity: { before: { id: targetId, provider }, after: null } },
      at,
    })
    revokeKeysOf(tx, { userId, at })
    await endSessions(tx, { tenantId, requestId, at, userId, exceptId: null, reason: 'undone' })
  })
}
