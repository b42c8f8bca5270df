import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import { closePage, type ListContext, listQuery, openPage, pageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { countMembers } from '../../tenancy/members/store.ts'
import { emailAddress, personName, presentedPassword } from '../person.ts'
import { readProfile } from './read-profile.ts'
import { findUserOf, listUsersOf } from './store.ts'
import { updateProfile } from './update-profile.ts'
import { memberUserSchema, profileSchema, showMemberUser } from './user-schemas.ts'

const profileChange = z.object({
  first_name: personName.optional(),
  last_name: personName.optional(),
  email: emailAddress.optional(),
  current_password: presentedPassword
    .optional()
    .meta({ description: 'For another e-mail address, where you signed in more than 15 minutes ago' }),
})

async function pageOfUsers(deps: Deps, actor: Actor, query: z.output<typeof listQuery>) {
  const { tenantId } = actor
  const list: ListContext = {
    sealer: deps.sealer,
    publicUrl: deps.publicUrl(),
    path: '/api/v1/users',
    tenantId,
    query,
  }
  const page = openPage(list)
  const [rows, count] = await inTenant(deps.db, actor, async (tx) => [
    await listUsersOf(tx, tenantId, page),
    await countMembers(tx, tenantId),
  ])
  return closePage(
    list,
    page,
    rows,
    count,
    (row) => ({ at: row.joined_at, id: row.membership_id }),
    showMemberUser,
  )
}

async function readUser(deps: Deps, actor: Actor, id: string) {
  const user = await inTenant(deps.db, actor, (tx) => findUserOf(tx, actor.tenantId, id))
  if (!user) throw notFound()
  actor.permit({ type: 'user', id: user.id, ownerId: user.id })
  return showMemberUser(user)
}

/** Only oneself: whoever else is named, known or not, the answer is the engine's refusal. */
async function updateUser(deps: Deps, actor: Actor, id: string, change: z.output<typeof profileChange>) {
  actor.permit({ type: 'user', id, ownerId: id })
  await updateProfile(deps, actor, change)
  const user = await inTenant(deps.db, actor, (tx) => findUserOf(tx, actor.tenantId, id))
  if (!user) throw notFound()
  return showMemberUser(user)
}

export const userRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    path: '/api/v1/users',
    action: 'user:list',
    tag: 'Users',
    summary: 'List the people of your tenant',
    query: listQuery,
    status: 200,
    answer: pageOf(memberUserSchema),
    handle: ({ actor, query }) => pageOfUsers(deps, actor, query),
  }),
  route({
    method: 'GET',
    path: '/api/v1/users/me',
    action: 'profile:read',
    tag: 'Users',
    summary: 'Read your own profile',
    status: 200,
    answer: profileSchema,
    handle: ({ actor }) => readProfile(deps, actor),
  }),
  ...(['PUT', 'PATCH'] as const).map((method) =>
    route({
      method,
      path: '/api/v1/users/me',
      action: 'profile:update',
      tag: 'Users',
      summary: 'Change your own profile',
      body: profileChange,
      status: 200,
      answer: profileSchema,
      handle: async ({ actor, body }) => {
        await updateProfile(deps, actor, body)
        return readProfile(deps, actor)
      },
    }),
  ),
  route({
    method: 'GET',
    path: '/api/v1/users/:id',
    action: 'user:read',
    decides: 'resource',
    tag: 'Users',
    summary: 'Read a person of your tenant',
    status: 200,
    answer: memberUserSchema,
    handle: ({ actor, params }) => readUser(deps, actor, pathId(params.id)),
  }),
  ...(['PUT', 'PATCH'] as const).map((method) =>
    route({
      method,
      path: '/api/v1/users/:id',
      action: 'profile:update',
      decides: 'resource',
      tag: 'Users',
      summary: 'Change a profile, which is only ever your own',
      body: profileChange,
      status: 200,
      answer: memberUserSchema,
      handle: ({ actor, params, body }) => updateUser(deps, actor, pathId(params.id), body),
    }),
  ),
]
