import { z } from 'zod'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { ObjectFinders } from '../../lists/find-object.ts'
import { pageOf } from '../../lists/lists.ts'
import { pathId } from '../../request/path-id.ts'
import { type Route, route, type Target } from '../../request/route.ts'
import { findEntities, knownSubject } from '../evaluation/load-evaluations.ts'
import { askApproval, askBody, decideApprovable, evaluationIn, ownIfAskable } from './ask-approval.ts'
import { cancelRequest } from './cancel-request.ts'
import { consumeApproval, consumption, decideAgain } from './consume-approval.ts'
import { pageOfPending, pageOfRequests, readableRequest } from './read-requests.ts'
import { requestSchema, showRequest } from './show-request.ts'
import { findRequest, isParty, type RequestRow, requestList } from './store.ts'
import { lockRequest } from './transition-store.ts'
import { approvalRequests as list } from './use-approvals.ts'
import { vote } from './vote.ts'

const voteBody = z.object({
  comment: z
    .string('Give the comment as text.')
    .max(1000, 'A comment may have 1000 characters at most.')
    .default(''),
})

const tag = 'Approvals'
const one = `${list}/:id`

const requestResource = (row: RequestRow, { caller: { userId } }: Pick<Target, 'caller'>) => ({
  type: 'approval_request',
  id: row.id,
  ownerId: isParty(row, userId) ? userId : row.requester_id,
})

export function approvalRoutes(deps: Deps, objects: ObjectFinders): Route[] {
  /** The request of the path, locked until the transaction ends. */
  const lockedRequest = async (tx: Tx, { caller, params }: Target): Promise<RequestRow | null> => {
    const id = pathId(params.id)
    await lockRequest(tx, caller.tenantId, id)
    return findRequest(tx, caller.tenantId, id, deps.clock())
  }
  return [
    route({
      method: 'POST',
      path: list,
      action: 'approval_request:create',
      tag,
      summary: 'Ask for the approval of an action of your application',
      description:
        'For a question whose evaluation answers `require_approval`. The open request that asks the same is 200. An approval is bound to the subject, the action, the resource, the policies that require it with their versions, and what these read of the resource, the action and the context. To ask for another subject needs `access:evaluate`.',
      body: askBody,
      status: 201,
      finds: true,
      answer: requestSchema,
      refusals: [409, 413],
      load: (tx, { caller, body }) => {
        const { tenantId, userId } = caller
        return findEntities(tx, objects, { tenantId, userId, now: deps.clock() }, [
          evaluationIn(body, caller),
        ])
      },
      resource: (entities, { caller, body }) =>
        ownIfAskable(caller, knownSubject(entities, caller, evaluationIn(body, caller))),
      prepare: ({ caller, body }, entities) =>
        decideApprovable(deps, caller, entities, evaluationIn(body, caller)),
      act: (tx, { caller, body }, _parts, approvable) =>
        askApproval(tx, deps, caller, approvable, body.message),
    }),
    route({
      method: 'GET',
      path: list,
      action: 'approval_request:list',
      readAction: 'approval_request:read',
      tag,
      summary: 'List approval requests',
      description: 'Members see their own requests, those about them, and those that they can decide.',
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
    route({
      method: 'GET',
      path: one,
      action: 'approval_request:read',
      tag,
      summary: 'Read an approval request',
      status: 200,
      answer: requestSchema,
      load: (read, { caller, params }) => findRequest(read, caller.tenantId, pathId(params.id), deps.clock()),
      resource: readableRequest,
      handle: ({ caller }, row) => showRequest(row, caller),
    }),
    ...(['approve', 'reject'] as const).map((decision) =>
      route({
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
          showRequest(await vote(tx, deps, caller, request, { decision, comment }), caller),
      }),
    ),
    route({
      method: 'POST',
      path: `${one}/cancel`,
      action: 'approval_request:cancel',
      tag,
      summary: 'Cancel a request',
      description:
        'The requester, the subject, an owner or an admin can cancel a pending request; only requester and subject can cancel an approved one.',
      body: voteBody.pick({}),
      status: 200,
      answer: requestSchema,
      refusals: [409],
      load: lockedRequest,
      resource: requestResource,
      takesAway: () => true,
      act: async (tx, { caller }, request) =>
        showRequest(await cancelRequest(tx, deps, caller, request), caller),
    }),
    route({
      method: 'POST',
      path: `${one}/consume`,
      action: 'approval_request:consume',
      tag,
      summary: 'Use the approval of an action of your application, once',
      description:
        'Consume first, then act under the same `operation_id`. The question is decided anew: 403 `approval_invalid` if a policy or a value that was approved has changed, 403 `permission_denied` if it is denied by now; both leave the approval unused. The same caller and `operation_id` get the same answer until a day after the end of the approval; another one is 409. A request about another subject needs `access:evaluate`.',
      body: consumption,
      status: 200,
      answer: requestSchema,
      refusals: [409],
      load: (tx, { caller, params }) => findRequest(tx, caller.tenantId, pathId(params.id), deps.clock()),
      resource: ({ id, account_id }, { caller }) => ({
        ...ownIfAskable(caller, account_id === null ? null : { id: account_id }),
        id,
      }),
      prepare: ({ caller, body }, request) => decideAgain(deps, objects, caller, request, body.operation_id),
      act: async (tx, { caller, body }, request, decisionId) => {
        const use = { operationId: body.operation_id, decisionId }
        return showRequest(await consumeApproval(tx, deps, caller, request, use), caller)
      },
    }),
  ]
}

const voteTexts = {
  approve: 'The request is approved when enough members who are still eligible have approved it.',
  reject: 'One rejection rejects the request.',
}
