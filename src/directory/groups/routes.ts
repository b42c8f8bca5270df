import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { DecidedPage } from '../../request/answer/decided-page.ts'
import { assertAmong, Versioned } from '../../request/answer/etag.ts'
import { pathId } from '../../request/path-id.ts'
import { type Route, route, type Target } from '../../request/route.ts'
import { listResponse } from '../list-response.ts'
import { type Projection, projection, shows } from '../resource/project.ts'
import { groupType } from '../schema/attributes.ts'
import {
  type ListQuery,
  listQuery,
  patchBody,
  projectionQuery,
  readQuery,
  searchBody,
} from '../scim-schemas.ts'
import { readGroup, readGroupChange } from './read-group-change.ts'
import { changeGroup, createGroup, endGroup } from './save-group.ts'
import { type Members, showGroup } from './show-group.ts'
import { countGroups, findGroup, type GroupRow, listGroups, listMembersOf, lockGroup } from './store.ts'

const at = '/scim/v2/Groups'
const anyObject = z.record(z.string(), z.unknown())
const ofGroups = { action: 'scim:provision', tag: 'SCIM' } as const

export function groupRoutes(deps: Deps): Route[] {
  const base = () => `${deps.publicUrl()}/scim/v2`
  const lockedGroup = async (tx: Tx, { caller: { tenantId }, params }: Target) => {
    await lockTenant(tx, tenantId)
    return lockGroup(tx, { tenantId, id: pathId(params.id) })
  }
  const resource = ({ id }: GroupRow) => ({ type: 'scim', id })
  /** The members of groups, if they are asked for: they can be many. */
  const membersOf = (
    read: Read,
    tenantId: string,
    of: Parameters<typeof listMembersOf>[2],
    asked: Projection,
  ) => (shows(groupType, asked, 'members') ? listMembersOf(read, tenantId, of) : [])
  const show = (group: GroupRow, members: Members, asked: Projection) =>
    projection(groupType, asked)(showGroup(group, members, base()))

  const list = async (read: Read, { tenantId }: { tenantId: string }, asked: ListQuery) => {
    const query = readQuery(asked)
    const [groups, total, members] = await Promise.all([
      listGroups(read, tenantId, query),
      countGroups(read, tenantId, query),
      membersOf(read, tenantId, query, asked),
    ])
    const { startIndex } = query
    return { groups, members: Map.groupBy(members, (member) => member.group_id), total, startIndex }
  }
  const page = (asked: ListQuery, { groups, members, total, startIndex }: Awaited<ReturnType<typeof list>>) =>
    new DecidedPage(
      listResponse(
        groups.map((group) => show(group, members.get(group.id) ?? [], asked)),
        { total, startIndex },
      ),
    )

  return [
    route({
      ...ofGroups,
      method: 'GET',
      path: at,
      summary: 'List Groups',
      query: listQuery,
      status: 200,
      answer: anyObject,
      load: (read, { caller, query }) => list(read, caller, query),
      handle: ({ query }, found) => page(query, found),
    }),
    route({
      ...ofGroups,
      method: 'POST',
      path: `${at}/.search`,
      summary: 'List Groups, by a body',
      body: searchBody,
      status: 200,
      answer: anyObject,
      load: (read, { caller, body }) => list(read, caller, body),
      handle: ({ body }, found) => page(body, found),
    }),
    route({
      ...ofGroups,
      method: 'POST',
      path: at,
      summary: 'Add a Group',
      body: anyObject,
      query: projectionQuery,
      status: 201,
      answer: anyObject,
      act: async (tx, { caller, body, query }) => {
        await lockTenant(tx, caller.tenantId)
        const group = await createGroup(tx, deps, caller, readGroup(body))
        const members = await membersOf(tx, caller.tenantId, { ids: [group.id] }, query)
        return new Versioned(group.version, show(group, members, query))
      },
    }),
    route({
      ...ofGroups,
      method: 'GET',
      path: `${at}/:id`,
      summary: 'Read a Group',
      query: projectionQuery,
      status: 200,
      answer: anyObject,
      versioned: true,
      load: async (read, { caller: { tenantId }, params, query }) => {
        const id = pathId(params.id)
        const [group, members] = await Promise.all([
          findGroup(read, { tenantId, id }),
          membersOf(read, tenantId, { ids: [id] }, query),
        ])
        return group && { group, members }
      },
      handle: ({ query }, { group, members }) => new Versioned(group.version, show(group, members, query)),
    }),
    route({
      ...ofGroups,
      method: 'PUT',
      path: `${at}/:id`,
      summary: 'Replace a Group',
      body: anyObject,
      query: projectionQuery,
      status: 200,
      answer: anyObject,
      versioned: true,
      load: lockedGroup,
      resource,
      act: async (tx, { caller, body, query, ifMatch }, group) => {
        assertAmong(ifMatch, group.version)
        const changed = await changeGroup(tx, deps, caller, group, { displayName: '', ...readGroup(body) })
        const members = await membersOf(tx, caller.tenantId, { ids: [group.id] }, query)
        return new Versioned(changed.version, show(changed, members, query))
      },
    }),
    route({
      ...ofGroups,
      method: 'PATCH',
      path: `${at}/:id`,
      summary: 'Change a Group',
      description: 'Answers without a body: a group can have very many members.',
      body: patchBody,
      status: 204,
      answer: null,
      versioned: true,
      load: lockedGroup,
      resource,
      act: async (tx, { caller, body, ifMatch }, group) => {
        assertAmong(ifMatch, group.version)
        await changeGroup(tx, deps, caller, group, readGroupChange(body.Operations))
      },
    }),
    route({
      ...ofGroups,
      method: 'DELETE',
      path: `${at}/:id`,
      summary: 'Delete a Group',
      status: 204,
      answer: null,
      versioned: true,
      load: lockedGroup,
      resource,
      act: async (tx, { caller, ifMatch }, group) => {
        assertAmong(ifMatch, group.version)
        await endGroup(tx, deps, caller, group)
      },
    }),
  ]
}
