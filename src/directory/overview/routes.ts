import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { listing, pageAndCount, pageOf } from '../../lists/lists.ts'
import { rfc3339, timestamp } from '../../request/body/schemas.ts'
import { type Route, route } from '../../request/route.ts'
import { countGroups, type GroupRow, groupList, listGroups, readOverview } from './store.ts'

const overview = z
  .object({
    users: z.int().meta({ description: 'Users that directories described' }),
    groups: z.int(),
    last_request_at: timestamp.nullable().meta({ description: 'null: none in the last 30 days' }),
  })
  .meta({ id: 'DirectoryOverview' })

const group = z
  .object({ id: z.uuid(), display_name: z.string(), members: z.int(), created_at: timestamp })
  .meta({ id: 'DirectoryGroup' })

const showGroup = (row: GroupRow) => ({ ...row, created_at: rfc3339(row.created_at) })

const tag = 'Directory'

export const directoryRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    path: '/api/v1/directory',
    action: 'directory:read',
    tag,
    summary: 'Count what directories sent',
    status: 200,
    answer: overview,
    scansRows: true,
    load: (read, { caller }) => readOverview(read, caller.tenantId),
    handle: (_input, { last_request_at: at, ...counts }) => ({
      ...counts,
      last_request_at: at === null ? null : rfc3339(at),
    }),
  }),
  route({
    method: 'GET',
    action: 'directory:read',
    tag,
    summary: 'List the groups of your directory',
    status: 200,
    answer: pageOf(group),
    ...listing(deps, {
      path: '/api/v1/directory/groups',
      list: groupList,
      rows: (read, { caller: { tenantId } }, page) =>
        pageAndCount(listGroups(read, tenantId, page), countGroups(read, tenantId, page)),
      show: showGroup,
    }),
  }),
]
