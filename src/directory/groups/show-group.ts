import { rfc3339 } from '../../request/body/schemas.ts'
import { groupUrn } from '../schema/attributes.ts'
import type { GroupRow, listMembersOf } from './store.ts'

export type Members = Awaited<ReturnType<typeof listMembersOf>>

/** A group as SCIM shows it; `base` is the address of `/scim/v2`. */
export const showGroup = (
  { id, display_name, external_id, created_at, updated_at, version }: GroupRow,
  members: Members,
  base: string,
) => ({
  schemas: [groupUrn],
  id,
  ...(external_id !== null && { externalId: external_id }),
  displayName: display_name,
  ...(members.length > 0 && {
    members: members.map(({ member_id }) => ({
      value: member_id,
      $ref: `${base}/Users/${member_id}`,
    })),
  }),
  meta: {
    resourceType: 'Group',
    created: rfc3339(created_at),
    lastModified: rfc3339(updated_at),
    location: `${base}/Groups/${id}`,
    version: `W/"${version}"`,
  },
})
