import { createHash } from 'node:crypto'
import { canonicalJson } from '../../crypto/canonical-json.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import { ApiError } from '../../errors.ts'
import type { GatedDecision, GuardedCall } from '../../request/change/approvals.ts'
import { type ApprovalDeps, openRequest } from './open-request.ts'
import { contextOfCall } from './record-transition.ts'
import { storeCall } from './store.ts'
import type { OpenRow, RequestKey } from './transition-store.ts'

const maxBody = 64 * 1024

/**
 * Returns the open request of a call, or creates one; as {@link openRequest}. Throws 413 if the body is too long for
 * approvers to read.
 */
export async function requestApproval(
  tx: Tx,
  deps: ApprovalDeps,
  call: GuardedCall,
  gated: GatedDecision,
): Promise<OpenRow | null> {
  if (JSON.stringify(call.shownBody).length > maxBody) throw tooLarge()
  const { decision, ownerRecovery } = gated
  const opened = await openRequest(tx, deps, {
    key: keyOf(call, gated),
    decision,
    change: contextOfCall(call),
    requester: call.callerName,
    object: nameOf(gated.resource),
    needed: ownerRecovery ? (decision.approval?.quorum ?? 1) : 1,
    shown: { requesterEmail: call.email, context: contextShown(call), kept: null, message: '' },
  })
  return opened && stored(tx, deps, call, opened.open)
}

/** The open request, with its call stored if it is pending and the caller prefers that. */
async function stored(
  tx: Tx,
  { sealer }: ApprovalDeps,
  { tenantId, stored: call, now: at }: GuardedCall,
  open: OpenRow,
): Promise<OpenRow> {
  if (!call || open.is_stored || open.status === 'approved') return open
  return { ...open, is_stored: await storeCall(tx, sealer, { tenantId, id: open.id, call, at }) }
}

/** What tells the requests of two calls apart. */
export function keyOf(call: GuardedCall, { resource }: Pick<GatedDecision, 'resource'>): RequestKey {
  const { tenantId, userId, email, callerType, action } = call
  return {
    kind: 'call',
    tenantId,
    requesterId: userId,
    subject: { type: callerType, id: userId, email: email || null, accountId: userId },
    action,
    resourceType: resource.type,
    resourceId: resource.id,
    digest: digestOf(call),
  }
}

/** What people call an object: its name; a person's address. */
function nameOf({ fields = {} }: GatedDecision['resource']): string | undefined {
  const { name, email, user } = fields as { name?: unknown; email?: unknown; user?: { email?: unknown } }
  return [name, email, user?.email].find((word): word is string => typeof word === 'string' && word !== '')
}

/**
 * SHA-256 (hex) of the whole call in the canonical form of RFC 8785. The parameters count too: the resource of a
 * collection, such as the keys of one service account, has no id that would tell it from another collection.
 */
export const digestOf = ({ method, route, params, query, body }: GuardedCall): string =>
  createHash('sha256').update(canonicalJson({ method, route, params, query, body })).digest('hex')

const contextShown = ({ method, path, shownBody: body, requestInfo, decisionId }: GuardedCall) => ({
  method,
  path,
  body,
  ip: requestInfo.ip,
  request_id: requestInfo.requestId,
  decision_id: decisionId,
})

// Approvers must be able to see the whole body.
const tooLarge = () =>
  new ApiError(
    413,
    'payload_too_large',
    `The body of a call that needs an approval can have at most ${maxBody} characters.`,
  )
