import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { asSystem, inTenant, type Tx } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { Versioned } from '../../platform/http/etag.ts'
import { answerPage, pageOf } from '../../platform/http/lists.ts'
import { changeRoute, type Route, route, type Target } from '../../platform/http/route.ts'
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

function pageOfInvitations(deps: Deps, caller: Caller, query: ListQuery) {
  const { tenantId } = caller
  const request = { path: `/api/v1/tenants/${tenantId}/invitations`, query }
  const load = (page: ListPage) =>
    inTenant(deps.db, caller, async (tx) => ({
      rows: await listInvitations(tx, tenantId, page, deps.clock()),
      count: await countInvitations(tx, tenantId, page),
    }))
  return answerPage(deps, caller, invitationList, request, load, showInvitation)
}

async function readInvitation(deps: Deps, caller: Caller, id: string) {
  const { tenantId } = caller
  const invitation = await inTenant(deps.db, caller, (tx) => findInvitation(tx, tenantId, id, deps.clock()))
  if (!invitation) throw notFound()
  return new Versioned(invitation.version, showInvitation(invitation))
}

/** The invitations to the caller's address; none while it is unverified, since the caller only claims it. */
function pageOfOwn(deps: Deps, caller: Caller, query: ListQuery) {
  const { email, emailVerified } = caller.auth.user
  const request = { path: '/api/v1/users/me/invitations', query }
  const load = async (page: ListPage) => {
    if (!emailVerified) return { rows: [], count: 0 }
    const now = deps.clock()
    return asSystem(deps.db, 'invitations to a person come from many tenants', async (tx) => ({
      rows: await listInvitationsTo(tx, email, page, now),
      count: await countInvitationsTo(tx, email, page, now),
    }))
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
      path: '/api/v1/tenants/:id/invitations',
      action: 'invitation:list',
      scope: 'inside',
      tag: 'Invitations',
      summary: 'List the invitations of your tenant',
      query: invitationList.query,
      status: 200,
      answer: pageOf(invitationSchema),
      handle: ({ caller, query }) => pageOfInvitations(deps, caller, query),
    }),
    changeRoute({
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
      handle: ({ caller, params }) => readInvitation(deps, caller, pathId(params.iid)),
    }),
    changeRoute({
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
      act: async (tx, { caller }, invitation) =>
        showInvitation(await cancelInvitation(tx, deps, caller, invitation)),
    }),
    changeRoute({
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
