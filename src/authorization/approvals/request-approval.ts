import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { ApiError, unavailable } from '../../platform/errors.ts'
import type { GatedDecision, GuardedCall } from '../../platform/http/approvals.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import { type Approver, listEligible } from './approver-store.ts'
import {
  type CallKey,
  countPendingOf,
  findOpen,
  insertRequest,
  listMailed,
  lockRequester,
  type NewRequest,
  type OpenRow,
  retireStale,
} from './open-store.ts'
import type { GateRef } from './store.ts'
import { tellApprovers } from './tell.ts'
import { callerOf, tellMove } from './tell-move.ts'

/** What making a request needs. */
export type GateDeps = Pick<Deps, 'config' | 'db' | 'sealer' | 'publicUrl'>

/** A call that met gates, and what they ask for. */
export interface Gated extends GatedDecision {
  call: GuardedCall
  /** of the validated body */
  digest: string
}

const maxPending = 100
const maxBody = 64 * 1024
const maxMails = 50
const hourMs = 3_600_000
const maxTries = 3

/**
 * Gives the request that is open for a call, or makes one and mails its approvers, each once an hour about the same
 * call; null where nobody is eligible. However often the same call is made, also at the same time, there is one. 409 `limit_reached` beyond 100 of a
 * person, 413 for a body that nobody would read.
 */
export async function requestApproval(tx: Tx, deps: GateDeps, gated: Gated): Promise<OpenRow | null> {
  const { call, decision } = gated
  const { tenantId, userId, now } = call
  const spec = decision.approval
  if (!spec) throw new Error('A gate asks for nothing')
  if (JSON.stringify(call.body).length > maxBody) throw tooLarge()
  const key = keyOf(gated)
  const gates = gatesOf(decision)
  const needed = gated.ownerRecovery ? spec.quorum : 1
  const asked = { approvers: spec.approvers, requesterId: userId, most: maxMails }
  for (let tries = 0; tries < maxTries; tries++) {
    const open = await findOpen(tx, key, gates, now)
    if (open?.status === 'approved') return open
    const approvers = await listEligible(tx, tenantId, asked)
    if (approvers.length < needed) return null
    if (open) return open
    await lockRequester(tx, key)
    await retire(tx, call, key, gates)
    if ((await countPendingOf(tx, key, now)) >= maxPending) throw tooMany()
    const mailed = await notMailedLately(tx, deps, key, approvers, now)
    const request = newRequest(gated, key, gates, mailed)
    // The same call, made at the same time, may have been faster.
    if (!(await insertRequest(tx, request))) continue
    await tellMove(tx, callerOf(call), { id: request.id, from: null, to: 'pending' })
    await tellApprovers(tx, deps, { request, approvers: mailed, requestId: call.requestInfo.requestId })
    return { id: request.id, status: 'pending', expires_at: request.expiresAt }
  }
  throw unavailable('overloaded', 'Others decide about this call at the same time. Try again.', 1)
}

/**
 * Of the approvers, those whom neither this call mailed within the hour, nor, with rate limits on, the requester's
 * other calls too often. The others find the request where it waits: taking back and asking again is no way to mail.
 */
async function notMailedLately(
  tx: Tx,
  { config }: GateDeps,
  key: CallKey,
  approvers: readonly Approver[],
  now: number,
): Promise<readonly Approver[]> {
  const most = config.rateLimits ? config.RATE_LIMIT_APPROVAL_MAILS_PER_HOUR : Number.POSITIVE_INFINITY
  const mailed = await listMailed(tx, key, now - hourMs)
  const enough = new Set(mailed.filter((row) => row.same_call || row.mails >= most).map(({ id }) => id))
  return approvers.filter(({ id }) => !enough.has(id))
}

const keyOf = ({ call, resource, digest }: Gated): CallKey => ({
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
  { call, decision }: Gated,
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
    reason: `Asked for by ${decision.matched.map(({ name }) => `“${name}”`).join(', ')}.`,
    gates,
    approvers,
    quorum,
    validFor: valid_for,
    mailedTo: mailed.map(({ id }) => id),
    at: now,
    expiresAt: now + expires_in * 1000,
  }
}

/** A request whose time is over, or that other policies asked for, stands in the way of the next. */
async function retire(tx: Tx, call: GuardedCall, key: CallKey, gates: GateRef[]): Promise<void> {
  const stale = await retireStale(tx, key, gates, call.now)
  if (stale) await tellMove(tx, callerOf(call), { id: stale.id, from: 'pending', to: stale.status })
}

/** Approvers have to see what they approve, all of it. */
const tooLarge = () =>
  new ApiError(
    413,
    'payload_too_large',
    `A call that needs an approval may have a body of ${maxBody} characters at most.`,
  )

const tooMany = () =>
  new ApiError(
    409,
    'limit_reached',
    `${maxPending} of your calls wait for an approval. Cancel some, or wait until they are decided.`,
  )
