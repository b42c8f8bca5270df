import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { answerPage } from '../../platform/http/lists.ts'
import { showRequest } from './show-request.ts'
import {
  canDecide,
  countRequests,
  findRequest,
  listRequests,
  type Reader,
  requestList,
  type View,
} from './store.ts'

export const readerOf = ({ tenantId, userId, auth }: Caller): Reader => ({
  tenantId,
  userId,
  roleIds: auth.membership?.roleIds ?? [],
})

const readsAll = (caller: Caller) => caller.may({ type: 'approval_request' })

/** A page of all requests; for members, of their own and those that they can decide. */
export const pageOfRequests = (deps: Deps, caller: Caller, query: ListQuery) =>
  pageOf(deps, caller, query, { path: '/api/v1/approval-requests', view: readsAll(caller) ? 'all' : 'own' })

/** A page of the requests that the caller can decide now: not their own, and not voted on by them. */
export const pageOfPending = (deps: Deps, caller: Caller, query: ListQuery) =>
  pageOf(deps, caller, query, { path: '/api/v1/approval-requests/pending', view: 'pending' })

function pageOf(deps: Deps, caller: Caller, query: ListQuery, { path, view }: { path: string; view: View }) {
  const reader = readerOf(caller)
  const now = deps.clock()
  const load = (page: ListPage) =>
    inTenant(deps.db, caller, async (tx) => ({
      rows: await listRequests(tx, reader, { view, now, page }),
      count: await countRequests(tx, reader, { view, now, page }),
    }))
  return answerPage(deps, caller, requestList, { path, query }, load, showRequest)
}

/** One request that the caller can read; null otherwise. To the policies it is the caller's own if they can decide it. */
export async function loadReadable(deps: Deps, caller: Caller, id: string) {
  const now = deps.clock()
  const reader = readerOf(caller)
  const { row, decides } = await inTenant(deps.db, caller, async (tx) => ({
    row: await findRequest(tx, caller.tenantId, id, now),
    decides: await canDecide(tx, reader, id),
  }))
  if (!row || !(row.requester_id === caller.userId || decides || readsAll(caller))) return null
  return { row, ownerId: decides ? caller.userId : row.requester_id }
}
