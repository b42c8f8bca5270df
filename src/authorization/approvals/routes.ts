import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import { pageOf } from '../../platform/http/lists.ts'
import { changeRoute, type Route, resourceRoute, route, type Target } from '../../platform/http/route.ts'
import { cancelRequest } from './cancel-request.ts'
import { pageOfPending, pageOfRequests, readableRequest } from './read-requests.ts'
import { requestSchema, showRequest } from './show-request.ts'
import { findRequest, type RequestRow, requestList } from './store.ts'
import { lockRequest } from './transition-store.ts'
import { vote } from './vote.ts'

const voteBody = z.object({
  comment: z
    .string('Give the comment as text.')
    .max(1000, 'A comment may have 1000 characters at most.')
    .default(''),
})

const tag = 'Approvals'
const list = '/api/v1/approval-requests'
const one = `${list}/:id`

const requestResource = ({ id, requester_id: ownerId }: RequestRow) => ({
  type: 'approval_request',
  id,
  ownerId,
})

export function approvalRoutes(deps: Deps): Route[] {
  /** The request of the path, locked until the transaction ends. */
  const lockedRequest = async (tx: Tx, { caller, params }: Target): Promise<RequestRow | null> => {
    const id = pathId(params.id)
    await lockRequest(tx, caller.tenantId, id)
    return findRequest(tx, caller.tenantId, id, deps.clock())
  }
  return [
    route({
      method: 'GET',
      path: list,
      action: 'approval_request:list',
      readAction: 'approval_request:read',
      tag,
      summary: 'List approval requests',
      description: 'Members see their own requests, and those that they can decide.',
      query: requestList.query,
      status: 200,
      answer: pageOf(requestSchema),
      handle: ({ caller, query }) => pageOfRequests(deps, caller, query),
    }),
    route({
      method: 'GET',
      path: `${list}/pending`,
      action: 'approval_request:list_pending',
      readAction: 'approval_request:read',
      tag,
      summary: 'List the approval requests that you can decide now',
      query: requestList.query,
      status: 200,
      answer: pageOf(requestSchema),
      handle: ({ caller, query }) => pageOfPending(deps, caller, query),
    }),
    resourceRoute({
      method: 'GET',
      path: one,
      action: 'approval_request:read',
      tag,
      summary: 'Read an approval request',
      status: 200,
      answer: requestSchema,
      load: (read, { caller, params }) => findRequest(read, caller.tenantId, pathId(params.id), deps.clock()),
      resource: readableRequest,
      handle: showRequest,
    }),
    ...(['approve', 'reject'] as const).map((decision) =>
      changeRoute({
        method: 'POST',
        path: `${one}/${decision}`,
        action: `approval_request:${decision}`,
        tag,
        summary: decision === 'approve' ? 'Approve a request' : 'Reject a request',
        description: voteTexts[decision],
        body: voteBody,
        status: 200,
        answer: requestSchema,
        refusals: [409],
        load: lockedRequest,
        resource: requestResource,
        // Also an approval: a removal can wait for it. Without a request, which counts, there is no vote.
        takesAway: () => true,
        act: async (tx, { caller, body: { comment } }, request) =>
          showRequest(await vote(tx, deps, caller, request, { decision, comment })),
      }),
    ),
    changeRoute({
      method: 'POST',
      path: `${one}/cancel`,
      action: 'approval_request:cancel',
      tag,
      summary: 'Cancel a request',
      description:
        'The requester, an owner or an admin can cancel a pending request; only the requester can cancel an approved one.',
      body: voteBody.pick({}),
      status: 200,
      answer: requestSchema,
      refusals: [409],
      load: lockedRequest,
      resource: requestResource,
      takesAway: () => true,
      act: async (tx, { caller }, request) => showRequest(await cancelRequest(tx, deps, caller, request)),
    }),
  ]
}

const voteTexts = {
  approve: 'The request is approved when enough members who are still eligible have approved it.',
  reject: 'One rejection rejects the request.',
}
