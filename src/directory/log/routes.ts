import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { listing, uncounted, uncountedPageOf } from '../../lists/lists.ts'
import { rfc3339, timestamp } from '../../request/body/schemas.ts'
import { type Route, route } from '../../request/route.ts'
import { type EntryRow, entryList, listEntries } from './store.ts'

const entry = z
  .object({
    id: z.uuid(),
    at: timestamp,
    method: z.string(),
    path: z.string().meta({ description: 'Without the query. Addresses are replaced by `…@…`' }),
    status: z.int(),
    detail: z
      .string()
      .nullable()
      .meta({ description: 'The sentence of the error, without addresses; null for none' }),
    request_id: z.string(),
  })
  .meta({ id: 'DirectoryRequest' })

const showEntry = (row: EntryRow) => ({ ...row, at: rfc3339(row.at) })

export const directoryLogRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    action: 'directory:read',
    tag: 'Directory',
    summary: 'List what directories asked over SCIM, newest first',
    description: 'The last 30 days, and at most the newest 100,000 requests.',
    status: 200,
    answer: uncountedPageOf(entry),
    ...listing(deps, {
      path: '/api/v1/directory/log',
      list: entryList,
      rows: (read, { caller: { tenantId } }, page) => uncounted(listEntries(read, tenantId, page)),
      show: showEntry,
    }),
  }),
]
