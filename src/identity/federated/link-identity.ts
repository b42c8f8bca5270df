import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { type AuditedActor, appendAudit } from '../../messages/audit/append-audit.ts'
import { makeLink } from '../../messages/links/one-time-link.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { type IdentityKey, insertIdentity } from './store.ts'

const undoMs = 7 * 86_400_000

export interface Linked {
  identity: IdentityKey & { email: string | null; name: string; tenantId: string | null }
  person: { id: string; email: string; firstName: string }
  /** The tenant that gets event, audit row and mail. */
  tenantId: string
  /** The account is older than this sign-in: its person gets a mail with a link that unlinks the identity. */
  tells: boolean
  /** Who links; default: the person. */
  by?: AuditedActor
  requestInfo: RequestInfo
  at: number
}

/** Links an identity to a person; gives its id, or null if it was linked meanwhile. As the system role. */
export async function linkIdentity(
  deps: Deps,
  tx: Tx,
  { identity, person, tenantId, tells, by, requestInfo, at }: Linked,
): Promise<string | null> {
  const id = timeOrderedId(at)
  const { id: userId, email, firstName } = person
  const { provider, name } = identity
  const actor = by ?? { id: userId, email }
  if (!(await insertIdentity(tx, { ...identity, id, userId, at }))) return null
  await appendEvent(tx, {
    type: 'identity.identity_linked',
    tenantId,
    subject: userId,
    data: { user_id: userId, identity_id: id, provider },
    actorId: actor.id,
    requestId: requestInfo.requestId,
    at,
  })
  await appendAudit(tx, {
    tenantId,
    actor,
    requestInfo,
    action: 'identity:link',
    target: { type: 'user', id: userId },
    changes: { identity: { before: null, after: { id, provider, email: identity.email } } },
    at,
  })
  if (!tells) return id
  const link = {
    purpose: 'identity_undo',
    userId,
    tenantId,
    email,
    targetId: id,
    at,
    lifeMs: undoMs,
  } as const
  const variables = { firstName, provider: name, undo: await makeLink(tx, deps, link) }
  await sendMail(tx, deps.sealer, {
    tenantId,
    to: email,
    template: 'identity_linked',
    variables,
    requestInfo,
    at,
  })
  return id
}
