import { z } from 'zod'
import { type Read, readInTenant } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import { notFound, sessionRevoked } from '../../errors.ts'
import { listing, pageAndCount, pageOf } from '../../lists/lists.ts'
import { Versioned } from '../../request/answer/etag.ts'
import { pathId } from '../../request/path-id.ts'
import { type LoadTarget, type Route, route } from '../../request/route.ts'
import { countPeople, userList } from '../../tenancy/members/list-store.ts'
import { listOwnMemberships } from '../../tenancy/members/store.ts'
import { findTenant } from '../../tenancy/tenants/store.ts'
import { checkCurrentPassword } from '../auth/check-password.ts'
import { emailAddress, languageTag, personName, presentedPassword, timeZone } from '../person.ts'
import { assertFreshSecondFactor, assertStrongSession } from '../sessions/fresh-authentication.ts'
import { eraseUser } from './erase-user.ts'
import { rereadProfile, showAccountProfile, showGranted, showProfile } from './read-profile.ts'
import { findUserOf, listUsersOf, type MemberUserRow } from './store.ts'
import { updateProfile } from './update-profile.ts'
import {
  accountProfileSchema,
  grantedProfileSchema,
  memberUserSchema,
  profileSchema,
  toJsonMemberUser,
  userResource,
} from './user-schemas.ts'

const profileChange = z.object({
  first_name: personName.optional(),
  last_name: personName.meta({ example: 'Lovelace' }).optional(),
  email: emailAddress.optional(),
  locale: languageTag.nullable().optional(),
  zoneinfo: timeZone.nullable().optional(),
  current_password: presentedPassword
    .optional()
    .meta({ description: 'For a new e-mail address, if you signed in more than 15 minutes ago' }),
})

const erasure = z.object({
  current_password: presentedPassword
    .optional()
    .meta({ description: 'Required unless you showed a second factor in the last 10 minutes' }),
})

const users = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/users',
    list: userList,
    rows: (read, { caller: { tenantId } }, page) =>
      pageAndCount(listUsersOf(read, tenantId, page), countPeople(read, tenantId, page)),
    show: toJsonMemberUser,
  })

/** What a profile shows: the memberships of a person, or the tenant of a service account. */
async function loadProfile(read: Read, { caller: { subjectType, tenantId, userId } }: LoadTarget) {
  if (subjectType === 'user') return { memberships: await listOwnMemberships(read), tenant: null }
  const tenant = await findTenant(read, tenantId, userId)
  return tenant && { memberships: [], tenant }
}

const versionedUser = (user: MemberUserRow) => new Versioned(user.version, toJsonMemberUser(user))

/** The profile as it would be with another, unverified address. */
function withEmail(profile: Awaited<ReturnType<typeof rereadProfile>>, email: string | null) {
  if (email === null) return profile
  return new Versioned(profile.version, { ...profile.body, email, email_verified: false })
}

export function userRoutes(deps: Deps): Route[] {
  return [
    route({
      method: 'GET',
      action: 'user:list',
      readAction: 'user:read',
      tag: 'Users',
      summary: 'List the people of your tenant',
      status: 200,
      answer: pageOf(memberUserSchema),
      ...users(deps),
    }),
    route({
      method: 'GET',
      path: '/api/v1/users/me',
      action: 'profile:read',
      tag: 'Users',
      summary: 'Read your own profile',
      status: 200,
      description:
        'With a key of a service account, what the account reads of itself. With the token of an application, the person in the tenant of the token; names take the scope `profile`, the address `email`.',
      answer: z.union([profileSchema, accountProfileSchema, grantedProfileSchema]),
      versioned: true,
      load: loadProfile,
      handle: ({ caller }, { memberships, tenant }) => {
        if (tenant) return showAccountProfile(caller, tenant)
        return caller.application ? showGranted(caller, memberships) : showProfile(caller, memberships)
      },
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
          const { shownEmail } = await updateProfile(deps, caller, body, ifMatch)
          return withEmail(await rereadProfile(deps, caller), shownEmail)
        },
      }),
    ),
    route({
      method: 'DELETE',
      path: '/api/v1/users/me',
      action: 'profile:delete',
      tag: 'Users',
      summary: 'Erase yourself',
      description:
        'Needs `current_password`, or a second factor shown within the last 10 minutes; with MFA on, it needs that factor also if you send the password. Deletes your account, sessions and memberships at once, and the tenants that have no other member; logs of other tenants keep only your id. 409 `last_owner` with `tenants` if you are the only owner of a tenant that has other members.',
      body: erasure,
      status: 204,
      answer: null,
      refusals: [409],
      handle: async ({ caller, body }) => {
        const now = deps.clock()
        assertFreshSecondFactor(caller, now)
        if (body.current_password === undefined) assertStrongSession(caller, now)
        else await checkCurrentPassword(deps, caller, body.current_password)
        const { userId: id, requestInfo } = caller
        if (!(await eraseUser(deps, { person: { id }, by: 'oneself', requestInfo }))) throw sessionRevoked()
        return undefined
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/users/:id',
      action: 'user:read',
      tag: 'Users',
      summary: 'Read a person of your tenant',
      status: 200,
      answer: memberUserSchema,
      versioned: true,
      load: (read, { caller, params }) => findUserOf(read, caller.tenantId, pathId(params.id)),
      resource: userResource,
      handle: (_input, user) => versionedUser(user),
    }),
    ...(['PUT', 'PATCH'] as const).map((method) =>
      route({
        method,
        path: '/api/v1/users/:id',
        action: 'profile:update',
        tag: 'Users',
        summary: 'Change a profile, which is only ever your own',
        body: profileChange,
        status: 200,
        answer: memberUserSchema,
        versioned: true,
        // The policy engine refuses a change of another person's profile, whether that person exists or not.
        load: async (_read, { params }) => pathId(params.id),
        resource: (id) => ({ type: 'user', id, ownerId: id }),
        handle: async ({ caller, body, ifMatch }, id) => {
          const { shownEmail } = await updateProfile(deps, caller, body, ifMatch)
          const user = await readInTenant(deps.db, caller, (read) => findUserOf(read, caller.tenantId, id))
          if (!user) throw notFound()
          return versionedUser(shownEmail === null ? user : { ...user, email: shownEmail })
        },
      }),
    ),
  ]
}
