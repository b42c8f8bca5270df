import type { QuerySqlToken } from 'slonik'
import { z } from 'zod'
import { deleteOld, everyTenant } from '../../database/delete-old.ts'
import type { Read } from '../../database/executor/read.ts'
import { listsOfValues } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { byFlag, defineList, type ListPage } from '../../lists/list.ts'

const entryRow = z.object({
  id: z.uuid(),
  at: z.number(),
  method: z.string(),
  path: z.string(),
  status: z.number(),
  detail: z.string().nullable(),
  request_id: z.string(),
})

/** A request of a directory, and its answer; `at` in ms since 1970. */
export type EntryRow = z.infer<typeof entryRow>

export type NewEntry = EntryRow & { tenant_id: string }

/** The requests of a tenant's directories, newest first. */
export const entryList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`at`, field: 'at', reveals: ['at'] } },
  newestFirst: true,
  filters: { failed: { ...byFlag(sql.fragment`(status >= 400)`), reveals: ['status'] } },
})

export const listEntries = (read: Read, tenantId: string, page: ListPage): Promise<readonly EntryRow[]> =>
  read.any(sql.type(entryRow)`
    select id, at, method, path, status, detail, request_id from directory_log where tenant_id = ${tenantId} ${page.tail}`)

/** The statements that insert entries of any tenants. As the system role; a repeated one changes nothing. */
export const entryInserts = (entries: readonly NewEntry[]): QuerySqlToken[] =>
  listsOfValues(
    entries.map(({ tenant_id, id, at, method, path, status, detail, request_id }) => [
      tenant_id,
      id,
      new Date(at).toISOString(),
      method,
      path,
      status,
      detail,
      request_id,
    ]),
  ).map(
    (values) => sql.unsafe`
    insert into directory_log (tenant_id, id, at, method, path, status, detail, request_id) ${values} on conflict do nothing`,
  )

/** Deletes at most `limit` entries older than `before` (ms since 1970); returns how many. As the worker role. */
export const deleteEntriesBefore = (tx: Tx, before: number, limit: number): Promise<number> =>
  deleteOld(tx, { table: 'directory_log', column: 'at', before: sql.fragment`${instant(before)}` }, limit)

/** Deletes at most `limit` entries beyond the newest `kept` of each tenant; returns how many. As the worker role. */
export async function deleteEntriesBeyond(tx: Tx, kept: number, limit: number): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    delete from directory_log where (tenant_id, id) in (
      select old.tenant_id, old.id from ${everyTenant(tx)} t cross join lateral (
        select tenant_id, id from directory_log r
        where r.tenant_id = t.id order by r.at desc, r.id desc offset ${kept} limit ${limit}) old
      limit ${limit})`)
  return rowCount
}
