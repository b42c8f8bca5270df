import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { listing, pageAndCount, pageOf } from '../../lists/lists.ts'
import { Versioned } from '../../request/answer/etag.ts'
import { changesOnly } from '../../request/body/changes-only.ts'
import { mailedLink } from '../../request/mailed-link.ts'
import { pathId } from '../../request/path-id.ts'
import { type Route, route, type Target } from '../../request/route.ts'
import { listRolesOf, type RoleRow } from '../roles/store.ts'
import { addMember, personToAdd } from './add-member.ts'
import { endMemberSessions } from './end-member-sessions.ts'
import { leaveTenant } from './leave-tenant.ts'
import { countMembers, listMembers, memberList } from './list-store.ts'
import { memberChange, memberResource, memberSchema, newMember, showMember } from './member-schemas.ts'
import { removeMember } from './remove-member.ts'
import { findMember, lockMember, type MemberRow } from './store.ts'
import { updateMember } from './update-member.ts'

const members = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/tenants/:id/members',
    list: memberList,
    rows: (read, { caller: { tenantId } }, page) =>
      pageAndCount(listMembers(read, tenantId, page), countMembers(read, tenantId, page)),
    show: showMember,
  })

type LockedMember = MemberRow & { granted: readonly RoleRow[] }

/**
 * Loads the member of the path and locks it. The lock on the tenant lets its members change one at a time, so an owner
 * remains; the lock on the member keeps their profile, which they change in all their tenants.
 */
async function lockedMember(tx: Tx, { caller, params }: Target): Promise<LockedMember | null> {
  const [tenantId, id] = [caller.tenantId, pathId(params.mid)]
  await lockTenant(tx, tenantId)
  lockMember(tx, tenantId, id)
  const [member, granted] = await Promise.all([findMember(tx, tenantId, id), listRolesOf(tx, tenantId, id)])
  return member && { ...member, granted }
}

export const memberRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    action: 'member:list',
    scope: 'inside',
    tag: 'Members',
    summary: 'List the members of your tenant',
    status: 200,
    answer: pageOf(memberSchema),
    ...members(deps),
  }),
  route({
    method: 'POST',
    path: '/api/v1/tenants/:id/members',
    action: 'member:create',
    scope: 'inside',
    tag: 'Members',
    summary: 'Add a person to your tenant',
    description:
      'A mail names who added the person and holds a link that leaves the tenant. To add an address without an id, invite it.',
    body: newMember,
    status: 201,
    answer: memberSchema,
    refusals: [409],
    prepare: ({ body }, _loaded) => personToAdd(deps, body),
    around: (change, { input: { caller }, prepared: { email } }) =>
      deps.limiters.mailing(caller, email, change),
    act: async (tx, { caller, body }, _loaded, person) =>
      showMember(await addMember(tx, deps, caller, person, body)),
  }),
  route({
    method: 'GET',
    path: '/api/v1/tenants/:id/members/:mid',
    action: 'member:list',
    scope: 'inside',
    tag: 'Members',
    summary: 'Read a member',
    status: 200,
    answer: memberSchema,
    versioned: true,
    load: (read, { caller, params }) => findMember(read, caller.tenantId, pathId(params.mid)),
    handle: (_input, row) => new Versioned(row.version, showMember(row)),
  }),
  ...(['PUT', 'PATCH'] as const).map((method) =>
    route({
      method,
      path: '/api/v1/tenants/:id/members/:mid',
      action: 'member:update',
      scope: 'inside',
      tag: 'Members',
      summary: "Change a member's roles, department, status, attributes or name in your applications",
      description: 'Takes effect at their next request. Roles and attributes replace the previous ones.',
      body: memberChange,
      status: 200,
      answer: memberSchema,
      refusals: [409],
      versioned: true,
      load: lockedMember,
      resource: memberResource,
      takesAway: ({ body }) => changesOnly(body, { status: 'suspended' }),
      act: async (tx, input, member) => showMember(await updateMember(tx, deps, input.caller, member, input)),
    }),
  ),
  route({
    method: 'DELETE',
    path: '/api/v1/tenants/:id/members/:mid/sessions',
    action: 'member:update',
    scope: 'inside',
    tag: 'Members',
    summary: "End a member's sessions in your tenant",
    description:
      'Their tokens for your tenant are refused from the next request on, until they sign in again.',
    status: 204,
    answer: null,
    load: lockedMember,
    resource: memberResource,
    act: (tx, { caller }, member) => endMemberSessions(tx, deps, caller, member),
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/tenants/:id/members/:mid',
    action: 'member:delete',
    scope: 'inside',
    tag: 'Members',
    summary: 'Remove a member, or leave',
    status: 204,
    answer: null,
    refusals: [409],
    versioned: true,
    load: lockedMember,
    resource: memberResource,
    act: (tx, { caller, ifMatch }, member) => removeMember(tx, deps, caller, member, ifMatch),
  }),
  route({
    path: '/api/v1/tenants/leave',
    tag: 'Members',
    summary: 'Leave a tenant with the token from the mail',
    description:
      'The mail to a person who was added holds the token. Needs no sign-in; no policy of the tenant applies.',
    refusals: [409],
    ...mailedLink('You have left the tenant', (requestInfo, token) => leaveTenant(deps, requestInfo, token)),
  }),
]
