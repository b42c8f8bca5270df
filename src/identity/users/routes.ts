import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { readInTenant } from '../../platform/db/read.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Versions } from '../../platform/db/version.ts'
import { notFound } from '../../platform/errors.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { Versioned } from '../../platform/http/etag.ts'
import { answerPage, pageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { countMembers, userList } from '../../tenancy/members/list-store.ts'
import { emailAddress, personName, presentedPassword } from '../person.ts'
import { readProfile, rereadProfile } from './read-profile.ts'
import { findUserOf, listUsersOf } from './store.ts'
import { updateProfile } from './update-profile.ts'
import { memberUserSchema, profileSchema, showMemberUser } from './user-schemas.ts'

const profileChange = z.object({
  first_name: personName.optional(),
  last_name: personName.meta({ example: 'Lovelace' }).optional(),
  email: emailAddress.optional(),
  current_password: presentedPassword
    .optional()
    .meta({ description: 'For another e-mail address, where you signed in more than 15 minutes ago' }),
})

function pageOfUsers(deps: Deps, caller: Caller, query: ListQuery) {
  const { tenantId } = caller
  const load = (page: ListPage) =>
    inTenant(deps.db, caller, async (tx) => {
      const count = await countMembers(tx, tenantId, page)
      return { rows: await listUsersOf(tx, tenantId, page, count), count }
    })
  return answerPage(deps, caller, userList, { path: '/api/v1/users', query }, load, showMemberUser)
}

async function readUser(deps: Deps, caller: Caller, id: string) {
  const user = await readInTenant(deps.db, caller, (read) => findUserOf(read, caller.tenantId, id))
  if (!user) throw notFound()
  const shown = showMemberUser(user)
  caller.permit({ type: 'user', id: user.id, ownerId: user.id, fields: shown })
  return new Versioned(user.version, shown)
}

/** Only oneself: whoever else is named, known or not, the answer is the engine's refusal. */
async function updateUser(
  deps: Deps,
  caller: Caller,
  id: string,
  change: z.output<typeof profileChange>,
  versions: Versions,
) {
  caller.permit({ type: 'user', id, ownerId: id })
  await updateProfile(deps, caller, change, versions)
  const user = await readInTenant(deps.db, caller, (read) => findUserOf(read, caller.tenantId, id))
  if (!user) throw notFound()
  return new Versioned(user.version, showMemberUser(user))
}

export const userRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    path: '/api/v1/users',
    action: 'user:list',
    tag: 'Users',
    summary: 'List the people of your tenant',
    query: userList.query,
    status: 200,
    answer: pageOf(memberUserSchema),
    handle: ({ caller, query }) => pageOfUsers(deps, caller, query),
  }),
  route({
    method: 'GET',
    path: '/api/v1/users/me',
    action: 'profile:read',
    tag: 'Users',
    summary: 'Read your own profile',
    status: 200,
    answer: profileSchema,
    versioned: true,
    handle: ({ caller }) => readProfile(deps, caller),
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
      versioned: true,
      handle: async ({ caller, body, ifMatch }) => {
        await updateProfile(deps, caller, body, ifMatch)
        return rereadProfile(deps, caller)
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
    versioned: true,
    handle: ({ caller, params }) => readUser(deps, caller, pathId(params.id)),
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
      versioned: true,
      handle: ({ caller, params, body, ifMatch }) =>
        updateUser(deps, caller, pathId(params.id), body, ifMatch),
    }),
  ),
]
