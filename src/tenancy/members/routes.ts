import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { answerPage, pageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { bodyId, rfc3339, timestamp } from '../../platform/http/schemas.ts'
import { addMember } from './add-member.ts'
import { countMembers, listMembers, type MemberRow, memberList } from './store.ts'

export const memberSchema = z
  .object({
    id: z.uuid(),
    user: z.object({
      id: z.uuid(),
      email: z.string(),
      first_name: z.string(),
      last_name: z.string(),
      is_active: z.boolean(),
    }),
    user_id: z.uuid(),
    email: z.string(),
    roles: z.array(z.string()),
    department_id: z.uuid().nullable(),
    status: z.enum(['active', 'suspended']),
    attributes: z.record(z.string(), z.unknown()),
    joined_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Member' })

export function showMember(row: MemberRow) {
  const { user_id, email, first_name, last_name, is_active } = row
  return {
    id: row.id,
    user: { id: user_id, email, first_name, last_name, is_active },
    user_id,
    email,
    roles: row.roles,
    department_id: row.department_id,
    status: row.status,
    attributes: row.attributes,
    joined_at: rfc3339(row.joined_at),
    updated_at: rfc3339(row.updated_at),
  }
}

const roleNames = z
  .array(z.string('Name roles as text.').min(1).max(64), 'Give roles as a list of names.')
  .min(1, 'A member needs at least one role.')
  .max(100, 'A member may have 100 roles at most.')

const newMember = z
  .object({
    user_id: bodyId.optional(),
    email: z.unknown().optional(),
    roles: roleNames.optional(),
    role: z.string('Name the role as text.').min(1).max(64).optional(),
  })
  .transform(({ user_id, email, roles, role }, context) => {
    if (user_id !== undefined) return { user_id, roles: roles ?? (role === undefined ? ['member'] : [role]) }
    const [path, message] =
      email === undefined
        ? ['user_id', 'Give the id of the person to add.']
        : ['email', 'An address is invited: POST /api/v1/tenants/<id>/invitations/.']
    context.addIssue({ code: 'custom', path: [path], message })
    return z.NEVER
  })
  .meta({
    override: {
      type: 'object',
      required: ['user_id'],
      properties: {
        user_id: { type: 'string', format: 'uuid' },
        roles: { type: 'array', items: { type: 'string' }, default: ['member'], description: 'Names or ids' },
        role: { type: 'string', description: 'In place of roles, for one' },
      },
    },
  })

function pageOfMembers(deps: Deps, actor: Actor, query: ListQuery) {
  const { tenantId } = actor
  const asked = { path: `/api/v1/tenants/${tenantId}/members`, tenantId, query }
  const load = (page: ListPage) =>
    inTenant(deps.db, actor, async (tx) => ({
      rows: await listMembers(tx, tenantId, page),
      count: await countMembers(tx, tenantId, page),
    }))
  return answerPage(deps, memberList, asked, load, showMember)
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
    description: 'The person is told by mail and can leave. An address without an id is invited instead.',
    body: newMember,
    status: 201,
    answer: memberSchema,
    refusals: [409],
    handle: async ({ actor, body }) => showMember(await addMember(deps, actor, body)),
  }),
]
