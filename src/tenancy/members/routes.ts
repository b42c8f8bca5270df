import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import { Versioned } from '../../platform/http/etag.ts'
import { linkRoute } from '../../platform/http/link-route.ts'
import { answerPage, pageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { addMember } from './add-member.ts'
import { leaveTenant } from './leave-tenant.ts'
import { countMembers, listMembers, memberList } from './list-store.ts'
import { memberChange, memberSchema, newMember, showMember } from './member-schemas.ts'
import { removeMember } from './remove-member.ts'
import { findMember } from './store.ts'
import { updateMember } from './update-member.ts'

function pageOfMembers(deps: Deps, actor: Actor, query: ListQuery) {
  const { tenantId } = actor
  const asked = { path: `/api/v1/tenants/${tenantId}/members`, query }
  const load = (page: ListPage) =>
    inTenant(deps.db, actor, async (tx) => {
      const count = await countMembers(tx, tenantId, page)
      return { rows: await listMembers(tx, tenantId, page, count), count }
    })
  return answerPage(deps, actor, memberList, asked, load, showMember)
}

async function readMember(deps: Deps, actor: Actor, memberId: string) {
  const member = await inTenant(deps.db, actor, (tx) => findMember(tx, actor.tenantId, memberId))
  if (!member) throw notFound()
  return new Versioned(member.version, showMember(member))
}

export const memberRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    path: '/api/v1/tenants/:id/members',
    action: 'member:list',
    scope: 'inside',
    tag: 'Members',
    summary: 'List the members of your tenant',
    query: memberList.query,
    status: 200,
    answer: pageOf(memberSchema),
    handle: ({ actor, query }) => pageOfMembers(deps, actor, query),
  }),
  route({
    method: 'POST',
    path: '/api/v1/tenants/:id/members',
    action: 'member:create',
    scope: 'inside',
    tag: 'Members',
    summary: 'Add a person to your tenant',
    description:
      'The person is told by mail, by whom, with a link that leaves the tenant. An address without an id is invited instead.',
    body: newMember,
    status: 201,
    answer: memberSchema,
    refusals: [409],
    handle: async ({ actor, body }) => showMember(await addMember(deps, actor, body)),
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
    handle: ({ actor, params }) => readMember(deps, actor, pathId(params.mid)),
  }),
  ...(['PUT', 'PATCH'] as const).map((method) =>
    route({
      method,
      path: '/api/v1/tenants/:id/members/:mid',
      action: 'member:update',
      scope: 'inside',
      decides: 'resource',
      tag: 'Members',
      summary: "Change a member's roles, department, status or attributes",
      description: 'Counts from their next request on. Roles and attributes replace what was there.',
      body: memberChange,
      status: 200,
      answer: memberSchema,
      refusals: [409],
      versioned: true,
      handle: async ({ actor, params, body, ifMatch }) =>
        showMember(await updateMember(deps, actor, pathId(params.mid), body, ifMatch)),
    }),
  ),
  route({
    method: 'DELETE',
    path: '/api/v1/tenants/:id/members/:mid',
    action: 'member:delete',
    scope: 'inside',
    decides: 'resource',
    tag: 'Members',
    summary: 'Remove a member, or leave',
    status: 204,
    answer: null,
    refusals: [409],
    versioned: true,
    handle: async ({ actor, params, ifMatch }) => {
      await removeMember(deps, actor, pathId(params.mid), ifMatch)
      return undefined
    },
  }),
  linkRoute({
    path: '/api/v1/tenants/leave',
    tag: 'Members',
    summary: 'Leave a tenant with the token out of the mail',
    description: 'The mail to whoever was added holds it. Needs no login, and asks no policy of the tenant.',
    refusals: [409],
    done: 'You have left the tenant',
    use: (origin, token) => leaveTenant(deps, origin, token),
  }),
]
