import { z } from 'zod'
import type { Read } from '../database/executor/read.ts'
import type { Deps } from '../deps.ts'
import { DecidedPage } from '../request/answer/decided-page.ts'
import { type Route, route } from '../request/route.ts'
import { showGroup } from './groups/show-group.ts'
import { countGroups, listGroups, listMembersOf } from './groups/store.ts'
import { listResponse } from './list-response.ts'
import { projection, shows } from './resource/project.ts'
import { groupType, userType } from './schema/attributes.ts'
import { type ListQuery, readQuery, searchBody } from './scim-schemas.ts'
import { branchesOf } from './users/filter-store.ts'
import { countUsers, listUsers } from './users/store.ts'
import { showUser } from './users/user-resource.ts'

/** Users and then groups, as one list (RFC 7644 §3.4.3). A filter can compare only what both have. */
export function searchRoutes(deps: Deps): Route[] {
  const base = () => `${deps.publicUrl()}/scim/v2`
  return [
    route({
      method: 'POST',
      path: '/scim/v2/.search',
      action: 'scim:provision',
      tag: 'SCIM',
      summary: 'List Users and Groups, by a body',
      body: searchBody,
      status: 200,
      answer: z.record(z.string(), z.unknown()),
      load: (read, { caller, body }) => load(read, caller.tenantId, body),
      handle: ({ body }, { users, userCount, groups, groupCount, members }) => {
        const { startIndex } = readQuery(body)
        const ofGroup = Map.groupBy(members, (member) => member.group_id)
        const shown = [
          ...users.map((row) => projection(userType, body)(showUser(row, base()))),
          ...groups.map((row) =>
            projection(groupType, body)(showGroup(row, ofGroup.get(row.id) ?? [], base())),
          ),
        ]
        return new DecidedPage(listResponse(shown, { total: userCount + groupCount, startIndex }))
      },
    }),
  ]
}

/** All statements go out together. Groups fill the page behind the last User. */
async function load(read: Read, tenantId: string, body: ListQuery) {
  const query = readQuery(body)
  const rest = { ...query, behind: branchesOf(tenantId, query).counted }
  const [users, userCount, groups, groupCount, members] = await Promise.all([
    listUsers(read, tenantId, query),
    countUsers(read, tenantId, query),
    listGroups(read, tenantId, rest),
    countGroups(read, tenantId, rest),
    shows(groupType, body, 'members') ? listMembersOf(read, tenantId, rest) : [],
  ])
  return { users, userCount, groups, groupCount, members }
}
