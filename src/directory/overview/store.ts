import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { countRow } from '../../database/executor/row-schemas.ts'
import { sql } from '../../database/executor/transaction.ts'
import { defineList, type ListPage } from '../../lists/list.ts'

const overviewRow = z.object({
  users: z.number(),
  groups: z.number(),
  last_request_at: z.number().nullable(),
})

/** What directories sent to a tenant; `last_request_at` in ms since 1970, null for none in the log. */
export type OverviewRow = z.infer<typeof overviewRow>

export const readOverview = (read: Read, tenantId: string): Promise<OverviewRow> =>
  read.one(sql.type(overviewRow)`
    select (select count(*) from directory_users where tenant_id = ${tenantId}) as users,
      (select count(*) from directory_groups where tenant_id = ${tenantId}) as groups,
      (select at from directory_log where tenant_id = ${tenantId} order by at desc, id desc limit 1) as last_request_at`)

const groupRow = z.object({
  id: z.uuid(),
  display_name: z.string(),
  members: z.number(),
  created_at: z.number(),
})

/** A group with the number of its members; `created_at` in ms since 1970. */
export type GroupRow = z.infer<typeof groupRow>

/** The groups of a tenant's directories. */
export const groupList = defineList({
  id: { column: sql.fragment`g.id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`g.created_at`, field: 'created_at' } },
  search: [{ column: sql.fragment`g.display_name_key`, reveals: ['display_name'] }],
})

export const listGroups = (read: Read, tenantId: string, page: ListPage): Promise<readonly GroupRow[]> =>
  read.any(sql.type(groupRow)`
    select g.id, g.display_name, g.created_at,
      (select count(*) from directory_group_members gm where gm.tenant_id = ${tenantId} and gm.group_id = g.id) as members
    from directory_groups g where g.tenant_id = ${tenantId} ${page.tail}`)

export const countGroups = (read: Read, tenantId: string, { conditions }: ListPage): Promise<number> =>
  read.oneFirst(sql.type(countRow)`
    select count(*) from directory_groups g where g.tenant_id = ${tenantId} ${conditions}`)
