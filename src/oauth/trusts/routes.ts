import type { Read } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import { assertCanEnrol } from '../../identity/otp/enrolment.ts'
import { listing, pageAndCount, pageOf, together } from '../../lists/lists.ts'
import { withoutPassword } from '../../request/guarded-call.ts'
import { pathId } from '../../request/path-id.ts'
import { type LoadTarget, type Route, route, type Target } from '../../request/route.ts'
import { findAccount } from '../../tenancy/members/account-store.ts'
import { accountResource } from '../../tenancy/service-accounts/account-schemas.ts'
import { createTrust } from './create-trust.ts'
import { removeTrust } from './delete-trust.ts'
import { countTrusts, findTrust, listTrusts, trustList } from './store.ts'
import { newTrust, showTrust, trustResource, trustSchema } from './trust-schemas.ts'

const tag = 'Service accounts'
const path = '/api/v1/service-accounts/:id/trusts'

const wanted = ({ caller, params }: LoadTarget | Target) => ({
  tenantId: caller.tenantId,
  accountId: pathId(params.id),
})

const trusts = (deps: Deps) =>
  listing(deps, {
    path,
    list: trustList,
    rows: (read, target, page) =>
      pageAndCount(listTrusts(read, wanted(target), page), countTrusts(read, wanted(target), page)),
    show: showTrust,
  })

const loadAccount = (read: Read, { caller, params }: LoadTarget) =>
  findAccount(read, caller.tenantId, pathId(params.id))

export const trustRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    path,
    action: 'service_account:read',
    tag,
    summary: 'List whose JWTs a service account trusts',
    query: trustList.query,
    status: 200,
    answer: pageOf(trustSchema),
    load: (read, target) => together(loadAccount(read, target), trusts(deps).load(read, target)),
    resource: ({ found }) => accountResource(found),
    handle: (input, { page }) => trusts(deps).handle(input, page),
  }),
  route({
    method: 'POST',
    path,
    action: 'oauth_client:create',
    tag,
    summary: 'Let workloads of another issuer act as a service account',
    description:
      'A pipeline or a pod sends the JWT that its platform gives it to `/oauth/token`, with the id of the account as `client_id` (RFC 7523), and gets a token of 15 minutes. Needs a sign-in or a second factor within the last 10 minutes, or `current_password`, and every permission of the account.',
    body: newTrust,
    status: 201,
    answer: trustSchema,
    refusals: [409],
    load: loadAccount,
    resource: ({ id }, { body }) => ({
      type: 'oauth_client',
      id: null,
      ownerId: null,
      fields: { ...withoutPassword(body), kind: 'machine', service_account_id: id },
    }),
    prepare: ({ caller, body }) =>
      assertCanEnrol(deps, caller, { now: deps.clock(), currentPassword: body.current_password }),
    act: async (tx, { caller, body }, { id }) => showTrust(await createTrust(tx, deps, caller, id, body)),
  }),
  route({
    method: 'DELETE',
    path: `${path}/:tid`,
    action: 'oauth_client:delete',
    tag,
    summary: 'Trust the JWTs of an issuer no longer',
    description: 'Tokens that they gave are refused from the next request on.',
    status: 204,
    answer: null,
    load: (read, target) => findTrust(read, wanted(target), pathId(target.params.tid)),
    resource: trustResource,
    act: (tx, { caller }, row) => removeTrust(tx, deps, caller, row),
  }),
]
