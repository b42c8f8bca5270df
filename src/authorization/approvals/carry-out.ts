import { randomUUIDv7 } from 'node:crypto'
import { nilUuid } from '../../crypto/uuid.ts'
import { readInTenant } from '../../database/executor/read.ts'
import { inTenant } from '../../database/executor/transaction.ts'
import { ApiError, notFound } from '../../errors.ts'
import { problemBody } from '../../http/problem.ts'
import { DelayedError } from '../../messages/queues/delayed-error.ts'
import type { StoredCall } from '../../request/change/approvals.ts'
import { isStorable, runStoredCall, type StoredDeps } from '../../request/change/stored-call.ts'
import type { Route } from '../../request/route.ts'
import { notifyParties } from './notify.ts'
import type { ApprovalDeps } from './open-request.ts'
import { recordTransition } from './record-transition.ts'
import { deleteStoredCall, findRequest, findStoredCall, markFailed, type RequestRow } from './store.ts'

interface Approved {
  tenantId: string
  /** of the approval request */
  id: string
}

/** The person or service account whose stored call it is; null if there is no such request. */
export async function requesterOf(
  { db, clock }: Pick<StoredDeps, 'db' | 'clock'>,
  { tenantId, id }: Approved,
): Promise<string | null> {
  const scope = { tenantId, userId: nilUuid }
  const request = await readInTenant(db, scope, (read) => findRequest(read, tenantId, id, clock()))
  return request?.requester_id ?? null
}

/**
 * Carries out the stored call of an approved request, as its requester. Does nothing for a request that is no longer
 * approved, so running it twice has one effect: the approval is consumed in the transaction of the effect. A refusal is
 * recorded with the request, that of a limit only when the approval ends before the limit does: until then it throws
 * `DelayedError`. Any other error is thrown, to try again.
 */
export async function carryOut(
  deps: StoredDeps & ApprovalDeps,
  routes: readonly Route[],
  approved: Approved,
): Promise<void> {
  const { tenantId, id } = approved
  // The API role reads requests in the scope of their tenant.
  const scope = { tenantId, userId: nilUuid }
  const { request, call } = await readInTenant(deps.db, scope, async (read) => {
    const [request, call] = await Promise.all([
      findRequest(read, tenantId, id, deps.clock()),
      findStoredCall(read, deps.sealer, approved),
    ])
    return { request, call }
  })
  if (request?.status !== 'approved' || request.execution_status !== 'pending' || !call) return
  try {
    await runStoredCall(deps, routeOf(routes, call), call, { tenantId, approvalId: id })
  } catch (error) {
    if (!isRefusal(error)) throw error
    const waitMs = isLimit(error) ? 1_000 * Number(error.headers['Retry-After'] ?? 60) : 0
    if (waitMs > 0 && deps.clock() + waitMs < request.expires_at) throw new DelayedError(waitMs)
    await recordFailure(deps, { ...approved, request, call, error })
  }
}

/** The route of a stored call. 404 if this release does not have it. */
function routeOf(routes: readonly Route[], call: StoredCall): Route {
  const route = routes.find(({ method, path }) => method === call.method && path === call.route)
  if (!route || !isStorable(route)) throw notFound()
  return route
}

const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.status < 500 || isLimit(error))

/** Whether a limit or a budget is used up, which is no fault of the service. */
const isLimit = ({ status, code }: ApiError) => status === 429 || code === 'too_costly'

interface Failure extends Approved {
  request: RequestRow
  call: StoredCall
  error: ApiError
}

async function recordFailure(
  deps: StoredDeps & ApprovalDeps,
  { tenantId, id, request, call, error }: Failure,
): Promise<void> {
  const { requestInfo } = call
  const at = deps.clock()
  const decisionId = randomUUIDv7()
  const { requester_id: userId, requester_email: email } = request
  await inTenant(deps.db, { tenantId, userId }, async (tx) => {
    const problem = problemBody(error, requestInfo.requestId)
    if (!(await markFailed(tx, tenantId, { id, decisionId, at, problem, httpStatus: error.status }))) return
    await deleteStoredCall(tx, tenantId, id)
    const person = { id: userId, email: email || null, type: 'user' as const }
    const context = { tenantId, person, requestInfo, at }
    await recordTransition(tx, context, { id, from: 'approved', to: 'failed' })
    await notifyParties(tx, deps, { request, tenantId, outcome: 'failed', requestInfo, at })
  })
}
