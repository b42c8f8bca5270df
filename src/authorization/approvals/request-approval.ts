import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { ApiError, unavailable } from '../../platform/errors.ts'
import type { GatedDecision, GuardedCall } from '../../platform/http/approvals.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import { notifyApprovers } from './notify.ts'
import { contextOfCall, recordTransition } from './record-transition.ts'
import {
  type CallKey,
  countPendingOf,
  findOpen,
  type GateRef,
  insertRequest,
  listMailed,
  lockRequester,
  type NewRequest,
  type OpenRow,
  retireStale,
} from './store.ts'
import { deleteStoredCall, storeCall } from './stored-call-store.ts'
import { type Approver, listEligible } from './transition-store.ts'

export type ApprovalDeps = Pick<Deps, 'config' | 'db' | 'sealer' | 'publicUrl'>

/** A call that needs an approval, and what its gates require. */
interface GatedCall extends GatedDecision {
  call: GuardedCall
  /** of the whole call, with its validated body */
  digest: string
}

const maxPending = 100
const maxBody = 64 * 1024
const maxMails = 50
const hourMs = 3_600_000
const maxTries = 3

/**
 * Returns the open request of a call, or creates one and mails its approvers, at most once an hour about the same call.
 * Null if too few members are eligible. Repeated and simultaneous calls share one request. Throws 409 `limit_reached`
 * above 100 pending requests of a person, and 413 if the body is too long for approvers to read.
 */
export async function requestApproval(tx: Tx, deps: ApprovalDeps, gated: GatedCall): Promise<OpenRow | null> {
  const { call, decision } = gated
  const { tenantId, userId, now } = call
  const spec = decision.approval
  if (!spec) throw new Error('A gate requires no approval')
  if (JSON.stringify(call.body).length > maxBody) throw tooLarge()
  const key = keyOf(gated)
  const gates = gatesOf(decision)
  const needed = gated.ownerRecovery ? spec.quorum : 1
  const eligibility = { approvers: spec.approvers, requesterId: userId, limit: maxMails }
  for (let tries = 0; tries < maxTries; tries++) {
    const open = await findOpen(tx, key, gates, now)
    if (open?.status === 'approved') return open
    const approvers = await listEligible(tx, tenantId, eligibility)
    if (approvers.length < needed) return null
    if (open) return stored(tx, deps, call, open)
    await lockRequester(tx, key)
    await retire(tx, call, key, gates)
    if ((await countPendingOf(tx, key, now)) >= maxPending) throw tooMany()
    const mailed = await mailableOf(tx, deps, key, approvers, now)
    const request = newRequest(gated, key, gates, mailed)
    // The same call, made at the same time, can have created the request first.
    if (!(await insertRequest(tx, request))) continue
    await recordTransition(tx, contextOfCall(call), { id: request.id, from: null, to: 'pending' })
    const requester = call.callerName
    await notifyApprovers(tx, deps, {
      request,
      requester,
      approvers: mailed,
      requestId: call.requestInfo.requestId,
    })
    const created = {
      id: request.id,
      status: 'pending' as const,
      expires_at: request.expiresAt,
      is_stored: false,
    }
    return stored(tx, deps, call, created)
  }
  throw unavailable('overloaded', 'This approval request changes too often at the moment. Try again.', 1)
}

/** The open request, with its call stored if the caller prefers that. */
async function stored(
  tx: Tx,
  { sealer }: ApprovalDeps,
  { tenantId, stored: call, now: at }: GuardedCall,
  open: OpenRow,
): Promise<OpenRow> {
  if (!call || open.is_stored) return open
  return { ...open, is_stored: await storeCall(tx, sealer, { tenantId, id: open.id, call, at }) }
}

/**
 * The approvers to mail. Within the last hour they got no mail about this call and, with rate limits on, not too many
 * about the requester's other calls. The others see the request in the list of pending ones. So a requester cannot
 * cause more mail by cancelling and repeating a call.
 */
async function mailableOf(
  tx: Tx,
  { config }: ApprovalDeps,
  key: CallKey,
  approvers: readonly Approver[],
  now: number,
): Promise<readonly Approver[]> {
  const max = config.rateLimits ? config.RATE_LIMIT_APPROVAL_MAILS_PER_HOUR : Number.POSITIVE_INFINITY
  const mailed = await listMailed(tx, key, now - hourMs)
  const enough = new Set(mailed.filter((row) => row.same_call || row.mails >= max).map(({ id }) => id))
  return approvers.filter(({ id }) => !enough.has(id))
}

const keyOf = ({ call, resource, digest }: GatedCall): CallKey => ({
  tenantId: call.tenantId,
  requesterId: call.userId,
  action: call.action,
  resourceType: resource.type,
  resourceId: resource.id,
  digest,
})

const gatesOf = ({ matched }: Decision): GateRef[] =>
  matched.map(({ policy_id, version }) => ({ policy_id, version }))

function newRequest(
  { call, decision }: GatedCall,
  key: CallKey,
  gates: GateRef[],
  mailed: readonly Approver[],
): NewRequest {
  const { quorum, approvers, expires_in, valid_for } = decision.approval!
  const { now, method, path, shownBody: body, requestInfo, decisionId } = call
  return {
    ...key,
    id: timeOrderedId(now),
    requesterEmail: call.email,
    context: {
      method,
      path,
      body,
      ip: requestInfo.ip,
      request_id: requestInfo.requestId,
      decision_id: decisionId,
    },
    reason: `Required by ${decision.matched.map(({ name }) => `“${name}”`).join(', ')}.`,
    gates,
    approvers,
    quorum,
    validFor: valid_for,
    mailedTo: mailed.map(({ id }) => id),
    at: now,
    expiresAt: now + expires_in * 1000,
  }
}

/** Ends a pending request of this call that is expired or of other policies: only one can be pending. */
async function retire(tx: Tx, call: GuardedCall, key: CallKey, gates: GateRef[]): Promise<void> {
  const stale = await retireStale(tx, key, gates, call.now)
  if (!stale) return
  await deleteStoredCall(tx, call.tenantId, stale.id)
  await recordTransition(tx, contextOfCall(call), { id: stale.id, from: 'pending', to: stale.status })
}

// Approvers must be able to see the whole body.
const tooLarge = () =>
  new ApiError(
    413,
    'payload_too_large',
    `The body of a call that needs an approval can have at most ${maxBody} characters.`,
  )

const tooMany = () =>
  new ApiError(
    409,
    'limit_reached',
    `${maxPending} of your calls are waiting for an approval. Cancel some of them, or wait until they are decided.`,
  )
