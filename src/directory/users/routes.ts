import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { DecidedPage } from '../../request/answer/decided-page.ts'
import { assertAmong, Versioned } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { pathId } from '../../request/path-id.ts'
import { overtaken, type Route, route } from '../../request/route.ts'
import { listResponse } from '../list-response.ts'
import { applyPatch, readResource } from '../resource/apply-patch.ts'
import type { Json } from '../resource/attribute-value.ts'
import { projection } from '../resource/project.ts'
import { userType } from '../schema/attributes.ts'
import {
  type ListQuery,
  listQuery,
  patchBody,
  projectionQuery,
  readQuery,
  searchBody,
} from '../scim-schemas.ts'
import { deleteUser } from './delete-user.ts'
import { type Account, findAccount } from './find-account.ts'
import { type Follow, followProfile } from './follow-profile.ts'
import { type PreLink, preLink } from './pre-link.ts'
import { assertCanJoin, changeUser, createUser } from './save-user.ts'
import { countUsers, findUser, listUsers, lockUser, type UserRow } from './store.ts'
import { type Described, describeUser, resourceOf, showUser, wasSentActive } from './user-resource.ts'

const at = '/scim/v2/Users'
const anyObject = z.record(z.string(), z.unknown())
const ofUsers = { action: 'scim:provision', tag: 'SCIM' } as const

/** A User to change, with what becomes of it and who has its address. */
interface Prepared {
  user: Described
  account: Account | null
  /** The mail about it waits, because a limit is reached. */
  waits: boolean
  /** What to do with the account, once the User is stored. */
  link?: PreLink | null
  follow?: Follow | null
}

export function userRoutes(deps: Deps): Route[] {
  const show = (row: UserRow) => showUser(row, `${deps.publicUrl()}/scim/v2`)
  const shown = (row: UserRow | typeof overtaken) =>
    row === overtaken ? row : new Versioned(row.version, show(row))

  const load = async (tx: Tx, { caller, params }: { caller: Caller; params: Record<string, string> }) => {
    const id = pathId(params.id)
    await lockTenant(tx, caller.tenantId)
    lockUser(tx, caller.tenantId, id)
    return findUser(tx, caller.tenantId, id)
  }
  const resource = ({ id }: UserRow) => ({ type: 'scim', id })

  /** Looks for the account of a User that can become a member. */
  const prepared = async (caller: Caller, row: UserRow | null, user: Described): Promise<Prepared> => {
    const { email, active } = user
    if ((row !== null && row.user_id !== null) || !active || email === null)
      return { user, account: null, waits: false }
    await assertCanJoin(deps, caller, { ...user, email, id: row?.id ?? timeOrderedId(deps.clock()) })
    return { user, account: await findAccount(deps, caller, email), waits: false }
  }
  /** Counts the mail that joining causes. Over a limit the User is made all the same, and waits. */
  const mailing = async <T>(change: () => Promise<T>, caller: Caller, made: Prepared): Promise<T> => {
    const { account, user } = made
    if (!account || (account.isVouched && !account.person)) return change()
    let begun = false
    const begin = () => {
      begun = true
      return change()
    }
    try {
      return await deps.limiters.mailing(caller, user.email!, begin)
    } catch (error) {
      if (begun || !(error instanceof ApiError && error.status === 429)) throw error
      made.waits = true
      return change()
    }
  }
  /** Changes a User, and then the account of its person: that is no row of the tenant. */
  const following = async <T>(change: () => Promise<T>, caller: Caller, made: Prepared): Promise<T> => {
    const answer = await mailing(change, caller, made)
    if (made.link && made.account?.hasLinking !== false) await preLink(deps, caller, made.link)
    if (made.follow) await followProfile(deps, caller, made.follow)
    return answer
  }
  const accountIn = ({ account, waits }: Prepared) => (waits ? null : account)

  const change = (method: 'PUT' | 'PATCH', summary: string, after: (row: UserRow, body: Json) => Json) =>
    route({
      ...ofUsers,
      method,
      path: `${at}/:id`,
      summary,
      body: method === 'PUT' ? anyObject : patchBody,
      query: projectionQuery,
      status: 200,
      answer: anyObject,
      versioned: true,
      load,
      resource,
      prepare: ({ caller, body, ifMatch }, row) => {
        assertAmong(ifMatch, row.version)
        return prepared(caller, row, describeUser(after(row, body)))
      },
      around: (change, { input, prepared }) => following(change, input.caller, prepared),
      act: async (tx, { caller, params, ifMatch, query }, before, made) => {
        const row = await load(tx, { caller, params })
        if (!row || row.version !== before.version) return overtaken
        assertAmong(ifMatch, row.version)
        const changed = await changeUser(tx, deps, caller, row, made.user, accountIn(made))
        if (changed === overtaken) return overtaken
        made.link = linkOf(row, changed)
        made.follow = followOf(row, changed, made.user)
        return new Versioned(changed.version, projection(userType, query)(show(changed)))
      },
    })

  const list = (read: Read, { tenantId }: { tenantId: string }, asked: ListQuery) => {
    const query = readQuery(asked)
    return Promise.all([
      query.count > 0 ? listUsers(read, tenantId, query) : [],
      countUsers(read, tenantId, query),
      query,
    ] as const)
  }
  const page = (asked: ListQuery, [rows, total, { startIndex }]: Awaited<ReturnType<typeof list>>) =>
    new DecidedPage(listResponse(rows.map(show).map(projection(userType, asked)), { total, startIndex }))

  return [
    route({
      ...ofUsers,
      method: 'GET',
      path: at,
      summary: 'List Users',
      query: listQuery,
      status: 200,
      answer: anyObject,
      load: (read, { caller, query }) => list(read, caller, query),
      handle: ({ query }, found) => page(query, found),
    }),
    route({
      ...ofUsers,
      method: 'POST',
      path: `${at}/.search`,
      summary: 'List Users, by a body',
      body: searchBody,
      status: 200,
      answer: anyObject,
      load: (read, { caller, body }) => list(read, caller, body),
      handle: ({ body }, found) => page(body, found),
    }),
    route({
      ...ofUsers,
      method: 'POST',
      path: at,
      summary: 'Add a User',
      body: anyObject,
      query: projectionQuery,
      status: 201,
      answer: anyObject,
      prepare: ({ caller, body }, _loaded) =>
        prepared(caller, null, describeUser(readResource(userType, body))),
      around: (change, { input, prepared }) => following(change, input.caller, prepared),
      act: async (tx, { caller }, _loaded, made) => {
        await lockTenant(tx, caller.tenantId)
        const row = await createUser(tx, deps, caller, made.user, accountIn(made))
        made.link = row === overtaken ? null : linkOf(null, row)
        return shown(row)
      },
    }),
    route({
      ...ofUsers,
      method: 'GET',
      path: `${at}/:id`,
      summary: 'Read a User',
      query: projectionQuery,
      status: 200,
      answer: anyObject,
      versioned: true,
      load: (read, { caller, params }) => findUser(read, caller.tenantId, pathId(params.id)),
      handle: ({ query }, row) => new Versioned(row.version, projection(userType, query)(show(row))),
    }),
    change('PUT', 'Replace a User', (row, body) => ({
      active: wasSentActive(row),
      ...readResource(userType, body),
    })),
    change('PATCH', 'Change a User', (row, { Operations }) =>
      applyPatch(userType, resourceOf(row), Operations),
    ),
    route({
      ...ofUsers,
      method: 'DELETE',
      path: `${at}/:id`,
      summary: 'Delete a User',
      status: 204,
      answer: null,
      versioned: true,
      load,
      resource,
      act: async (tx, { caller, ifMatch }, row) => {
        assertAmong(ifMatch, row.version)
        await deleteUser(tx, deps, caller, row)
      },
    }),
  ]
}

/** What a change of a User changes of links: of one who has become a member, or has another name. */
function linkOf(before: UserRow | null, after: UserRow): PreLink | null {
  const { user_id: userId } = after
  if (userId === null) return null
  const isMade = after.made_user_id === userId
  const from = before?.user_id ? namesOf(before) : null
  const to = namesOf(after)
  return isDeepStrictEqual(from, to) ? null : { userId, from, to, isMade }
}

const namesOf = ({ user_name, email, external_id }: UserRow) => ({
  userName: user_name ?? email ?? '',
  externalId: external_id,
})

/** What a change of a member changes of their names and address; null for nothing. */
function followOf(before: UserRow, { id, made_user_id }: UserRow, after: Described): Follow | null {
  const { user_id: userId } = before
  if (userId === null) return null
  const was = describeUser(resourceOf(before))
  const changed = <Key extends 'email' | 'firstName' | 'lastName'>(key: Key) =>
    was[key] === after[key] ? null : after[key] || null
  const [email, firstName, lastName] = [changed('email'), changed('firstName'), changed('lastName')]
  const hasOtherEmail = was.email !== after.email
  if (!hasOtherEmail && firstName === null && lastName === null) return null
  const isMade = made_user_id === userId
  return { userId, membershipId: id, isMade, hasOtherEmail, email, firstName, lastName }
}
