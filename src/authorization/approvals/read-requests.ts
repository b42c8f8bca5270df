import { readInTenant } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../lists/list.ts'
import { answerPage, pageAndCount } from '../../lists/lists.ts'
import type { Caller } from '../../request/caller.ts'
import { fieldsOf, showRequest } from './show-request.ts'
import {
  canDecide,
  countRequests,
  isParty,
  listRequests,
  type RequestRow,
  readerOf,
  requestList,
  type View,
} from './store.ts'

const readsAll = (caller: Caller) => caller.may({ type: 'approval_request' })

/** A page of all requests; for members, of their own, those about them, and those that they can decide. */
export const pageOfRequests = (deps: Deps, caller: Caller, query: ListQuery) =>
  pageOf(deps, caller, query, { path: '/api/v1/approval-requests', view: readsAll(caller) ? 'all' : 'own' })

/** A page of the requests that the caller can decide now: not their own, and not voted on by them. */
export const pageOfPending = (deps: Deps, caller: Caller, query: ListQuery) =>
  pageOf(deps, caller, query, { path: '/api/v1/approval-requests/pending', view: 'pending' })

function pageOf(deps: Deps, caller: Caller, query: ListQuery, { path, view }: { path: string; view: View }) {
  const reader = readerOf(caller)
  const now = deps.clock()
  const load = (page: ListPage) =>
    readInTenant(deps.db, caller, (read) =>
      pageAndCount(
        listRequests(read, reader, { view, now, page }),
        countRequests(read, reader, { view, now, page }),
      ),
    )
  const resource = readableFor(caller)
  const show = (row: RequestRow) => showRequest(row, caller)
  return answerPage(deps, caller, requestList, { path, query }, load, show, { resource })
}

/**
 * A request as a resource of policies. It is the caller's own also if it is about them, or if they can decide it. Null
 * for callers who can neither, and who cannot read all.
 */
export const readableRequest = (row: RequestRow, { caller }: { caller: Caller }) => readableFor(caller)(row)

function readableFor(caller: Caller) {
  const [reader, all] = [readerOf(caller), readsAll(caller)]
  return (row: RequestRow) => {
    const isOwn = isParty(row, caller.userId) || canDecide(row, reader)
    if (!isOwn && !all) return null
    const ownerId = isOwn ? caller.userId : row.requester_id
    return { type: 'approval_request', id: row.id, ownerId, fields: fieldsOf(row) }
  }
}
