import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import { pageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { cancelRequest } from './cancel-request.ts'
import { pageOfPending, pageOfRequests, readRequest } from './read-requests.ts'
import { requestSchema, showRequest } from './show-request.ts'
import { requestList } from './store.ts'
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

export const approvalRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    path: list,
    action: 'approval_request:list',
    tag,
    summary: 'List approval requests',
    description: 'Members see their own, and those they may decide.',
    query: requestList.query,
    status: 200,
    answer: pageOf(requestSchema),
    handle: ({ caller, query }) => pageOfRequests(deps, caller, query),
  }),
  route({
    method: 'GET',
    path: `${list}/pending`,
    action: 'approval_request:list_pending',
    tag,
    summary: 'List the approval requests that you may decide now',
    query: requestList.query,
    status: 200,
    answer: pageOf(requestSchema),
    handle: ({ caller, query }) => pageOfPending(deps, caller, query),
  }),
  route({
    method: 'GET',
    path: one,
    action: 'approval_request:read',
    decides: 'resource',
    tag,
    summary: 'Read an approval request',
    status: 200,
    answer: requestSchema,
    handle: ({ caller, params }) => readRequest(deps, caller, pathId(params.id)),
  }),
  ...(['approve', 'reject'] as const).map((decision) =>
    route({
      method: 'POST',
      path: `${one}/${decision}`,
      action: `approval_request:${decision}`,
      decides: 'resource',
      tag,
      summary: decision === 'approve' ? 'Approve a request' : 'Reject a request',
      description: voteTexts[decision],
      body: voteBody,
      status: 200,
      answer: requestSchema,
      refusals: [409],
      handle: async ({ caller, params, body: { comment } }) =>
        showRequest(await vote(deps, caller, { id: pathId(params.id), decision, comment })),
    }),
  ),
  route({
    method: 'POST',
    path: `${one}/cancel`,
    action: 'approval_request:cancel',
    decides: 'resource',
    tag,
    summary: 'Cancel a request',
    description: 'The requester, an owner or an admin; once it is approved, the requester alone.',
    body: voteBody.pick({}),
    status: 200,
    answer: requestSchema,
    refusals: [409],
    handle: async ({ caller, params }) => showRequest(await cancelRequest(deps, caller, pathId(params.id))),
  }),
]

const voteTexts = {
  approve: 'It is approved once as many as the policy asks for, who still may, have said so.',
  reject: 'The first rejection decides.',
}
