import { readAsSystem } from '../../database/executor/read.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../lists/list.ts'
import { answerPage, listing, pageAndCount, pageOf } from '../../lists/lists.ts'
import { Versioned } from '../../request/answer/etag.ts'
import { type Caller, confinedTo } from '../../request/caller.ts'
import { pathId } from '../../request/path-id.ts'
import { type Route, route, type Target } from '../../request/route.ts'
import { cancelInvitation } from './cancel-invitation.ts'
import { createInvitation } from './create-invitation.ts'
import {
  invitationResource,
  invitationSchema,
  newInvitation,
  receivedSchema,
  showInvitation,
  showReceived,
} from './invitation-schemas.ts'
import { resendInvitation } from './resend-invitation.ts'
import {
  countInvitations,
  countInvitationsTo,
  findInvitation,
  invitationList,
  listInvitations,
  listInvitationsTo,
  ownInvitationList,
} from './store.ts'

const invitations = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/tenants/:id/invitations',
    list: invitationList,
    rows: (read, { caller: { tenantId } }, page) =>
      pageAndCount(
        listInvitations(read, tenantId, page, deps.clock()),
        countInvitations(read, tenantId, page),
      ),
    show: showInvitation,
  })

/** The invitations to the caller's address; none while it is unverified, since the caller only claims it. */
function pageOfOwn(deps: Deps, caller: Caller, query: ListQuery) {
  const { email, emailVerified } = caller.auth.user
  const request = { path: '/api/v1/users/me/invitations', query }
  const load = async (page: ListPage) => {
    if (!emailVerified) return { rows: [], count: 0 }
    const now = deps.clock()
    const to = { email, only: confinedTo(caller) }
    return readAsSystem(deps.db, 'invitations to a person come from many tenants', (read) =>
      pageAndCount(listInvitationsTo(read, to, page, now), countInvitationsTo(read, to, page, now)),
    )
  }
  return answerPage(deps, caller, ownInvitationList, request, load, showReceived)
}

export function invitationRoutes(deps: Deps): Route[] {
  const invitationOfPath = (tx: Tx, { caller, params }: Target) =>
    findInvitation(tx, caller.tenantId, pathId(params.iid), deps.clock())
  return [
    route({
      method: 'GET',
      path: '/api/v1/users/me/invitations',
      action: 'invitation:list_own',
      tag: 'Invitations',
      summary: 'List the invitations to your address',
      description: 'Lists those that you can accept now; none while your address is not verified.',
      query: ownInvitationList.query,
      status: 200,
      answer: pageOf(receivedSchema),
      handle: ({ caller, query }) => pageOfOwn(deps, caller, query),
    }),
    route({
      method: 'GET',
      action: 'invitation:list',
      scope: 'inside',
      tag: 'Invitations',
      summary: 'List the invitations of your tenant',
      status: 200,
      answer: pageOf(invitationSchema),
      ...invitations(deps),
    }),
    route({
      method: 'POST',
      path: '/api/v1/tenants/:id/invitations',
      action: 'invitation:create',
      scope: 'inside',
      tag: 'Invitations',
      summary: 'Invite an address to your tenant',
      description: 'Only the mail contains the token.',
      body: newInvitation,
      status: 201,
      answer: invitationSchema,
      refusals: [409],
      around: (change, { input: { caller, body } }) => deps.limiters.mailing(caller, body.email, change),
      act: async (tx, { caller, body }) => showInvitation(await createInvitation(tx, deps, caller, body)),
    }),
    route({
      method: 'GET',
      path: '/api/v1/tenants/:id/invitations/:iid',
      action: 'invitation:list',
      scope: 'inside',
      tag: 'Invitations',
      summary: 'Read an invitation',
      status: 200,
      answer: invitationSchema,
      versioned: true,
      load: (read, { caller, params }) =>
        findInvitation(read, caller.tenantId, pathId(params.iid), deps.clock()),
      handle: (_input, row) => new Versioned(row.version, showInvitation(row)),
    }),
    route({
      method: 'POST',
      path: '/api/v1/tenants/:id/invitations/:iid/cancel',
      action: 'invitation:cancel',
      scope: 'inside',
      tag: 'Invitations',
      summary: 'Cancel a pending invitation',
      status: 200,
      answer: invitationSchema,
      refusals: [409],
      load: invitationOfPath,
      resource: invitationResource,
      takesAway: () => true,
      act: async (tx, { caller }, invitation) =>
        showInvitation(await cancelInvitation(tx, deps, caller, invitation)),
    }),
    route({
      method: 'POST',
      path: '/api/v1/tenants/:id/invitations/:iid/resend',
      action: 'invitation:resend',
      scope: 'inside',
      tag: 'Invitations',
      summary: 'Send an invitation again',
      description: 'The mail has a new token with its full validity; the previous token stops working.',
      status: 200,
      answer: invitationSchema,
      refusals: [409],
      load: invitationOfPath,
      resource: invitationResource,
      around: (change, { input: { caller }, loaded: { email } }) =>
        deps.limiters.mailing(caller, email, change),
      act: async (tx, { caller }, invitation) =>
        showInvitation(await resendInvitation(tx, deps, caller, invitation)),
    }),
  ]
}
