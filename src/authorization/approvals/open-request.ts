import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, unavailable } from '../../errors.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import { notifyApprovers } from './notify.ts'
import { type ChangeContext, recordTransition } from './record-transition.ts'
import { deleteStoredCall, type GateRef, gatesOf } from './store.ts'
import {
  type Approver,
  countPendingOf,
  findOpen,
  insertRequest,
  listEligible,
  listMailed,
  lockSubject,
  type NewRequest,
  type OpenRow,
  type RequestKey,
  retireStale,
} from './transition-store.ts'

export type ApprovalDeps = Pick<Deps, 'config' | 'db' | 'sealer' | 'publicUrl'>

/** What asks for an approval: a call that met gates, or an evaluation of an application. */
export interface Asking {
  key: RequestKey
  /** It requires an approval. */
  decision: Decision
  /** Who asks, and when. */
  change: ChangeContext
  /** What mails call who asks. */
  requester: string
  /** What mails call the object. */
  object?: string | undefined
  /** How many eligible approvers there have to be. */
  needed: number
  shown: Pick<NewRequest, 'requesterEmail' | 'context' | 'kept' | 'message'>
}

const maxPending = 100
const maxMails = 50
const hourMs = 3_600_000
const maxTries = 3

/**
 * Returns the open request that asks the same, or creates one and mails its approvers, at most once an hour about the
 * same. Null if too few members are eligible. Repeated and simultaneous callers share one request. Throws 409
 * `limit_reached` above 100 pending requests of a subject.
 */
export async function openRequest(
  tx: Tx,
  deps: ApprovalDeps,
  asking: Asking,
): Promise<{ open: OpenRow; isNew: boolean } | null> {
  const { key, decision, change, needed } = asking
  const { approval } = decision
  if (!approval) throw new Error('A gate requires no approval')
  const { tenantId, requesterId, subject } = key
  const gates = gatesOf(decision)
  const { accountId } = subject
  const eligibility = { approvers: approval.approvers, requesterId, accountId, limit: maxMails }
  for (let tries = 0; tries < maxTries; tries++) {
    const open = await findOpen(tx, key, gates, change.at)
    if (open?.status === 'approved') return { open, isNew: false }
    const approvers = await listEligible(tx, tenantId, eligibility)
    if (approvers.length < needed) return null
    if (open) return { open, isNew: false }
    await lockSubject(tx, key)
    await retire(tx, asking, gates)
    if ((await countPendingOf(tx, key, change.at)) >= maxPending) throw tooMany()
    const mailed = await mailableOf(tx, deps, key, approvers, change.at)
    const request = newRequest(asking, gates, mailed)
    // The same, asked at the same time, can have created the request first.
    if (!(await insertRequest(tx, request))) continue
    await recordTransition(tx, change, { id: request.id, from: null, to: 'pending' })
    const { requester, object } = asking
    const { requestInfo } = change
    await notifyApprovers(tx, deps, { request, requester, object, approvers: mailed, requestInfo })
    const created = { id: request.id, expires_at: request.expiresAt, is_stored: false }
    return { open: { ...created, status: 'pending' }, isNew: true }
  }
  throw unavailable('overloaded', 'This approval request changes too often at the moment. Try again.', 1)
}

/**
 * The approvers to mail. Within the last hour they got no mail about the same and, with rate limits on, not too many
 * about the subject's other requests. The others see the request in the list of pending ones. So cancelling and
 * asking again causes no more mail.
 */
async function mailableOf(
  tx: Tx,
  { config }: ApprovalDeps,
  key: RequestKey,
  approvers: readonly Approver[],
  now: number,
): Promise<readonly Approver[]> {
  const max = config.rateLimits ? config.RATE_LIMIT_APPROVAL_MAILS_PER_HOUR : Number.POSITIVE_INFINITY
  const mailed = await listMailed(tx, key, now - hourMs)
  const enough = new Set(mailed.filter((row) => row.is_same || row.mails >= max).map(({ id }) => id))
  return approvers.filter(({ id }) => !enough.has(id))
}

function newRequest(
  { key, decision, change, shown }: Asking,
  gates: GateRef[],
  mailed: readonly Approver[],
): NewRequest {
  const { quorum, approvers, expires_in, valid_for } = decision.approval!
  const { at } = change
  return {
    ...key,
    ...shown,
    id: timeOrderedId(at),
    reason: `Required by ${decision.matched.map(({ name }) => `“${name}”`).join(', ')}.`,
    gates,
    approvers,
    quorum,
    validFor: valid_for,
    mailedTo: mailed.map(({ id }) => id),
    at,
    expiresAt: at + expires_in * 1000,
  }
}

/** Ends a pending request of this key that is expired or of other policies: only one can be pending. */
async function retire(tx: Tx, { key, change }: Asking, gates: GateRef[]): Promise<void> {
  const stale = await retireStale(tx, key, gates, change.at)
  if (!stale) return
  await deleteStoredCall(tx, key.tenantId, stale.id)
  await recordTransition(tx, change, { id: stale.id, from: 'pending', to: stale.status })
}

const tooMany = () =>
  new ApiError(
    409,
    'limit_reached',
    `${maxPending} requests of this subject are waiting for an approval. Cancel some of them, or wait until they are decided.`,
  )
