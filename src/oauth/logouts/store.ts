import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { byWord, defineList, type ListPage } from '../../lists/list.ts'
import type { ClientKey } from '../clients/client-id.ts'

export const logoutStatuses = ['pending', 'delivered', 'failed'] as const

const logoutRow = z.object({
  id: z.uuid(),
  client_id: z.uuid(),
  user_id: z.uuid(),
  sid: z.string(),
  status: z.enum(logoutStatuses),
  attempts: z.number(),
  response_status: z.number().nullable(),
  created_at: z.number(),
  next_attempt_at: z.number().nullable(),
})

/** What a client is told of a session that ended. */
export type LogoutRow = z.infer<typeof logoutRow>

const columns = sql.fragment`
  id, client_id, user_id, sid, status, attempts, response_status, created_at, next_attempt_at`

/** The logouts of a client, newest first. */
export const logoutList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`created_at`, field: 'created_at' } },
  newestFirst: true,
  filters: { status: byWord(sql.fragment`status`, logoutStatuses) },
})

/** A page of the logouts of a client. */
export function listLogouts(
  read: Read,
  { tenantId, id }: ClientKey,
  page: ListPage,
): Promise<readonly LogoutRow[]> {
  return read.any(sql.type(logoutRow)`
    select ${columns} from oauth_logouts where tenant_id = ${tenantId} and client_id = ${id} ${page.tail}`)
}

/** Names a row. */
export interface LogoutKey {
  tenantId: string
  logoutId: string
}

const isRow = ({ tenantId, logoutId }: LogoutKey) =>
  sql.fragment`tenant_id = ${tenantId} and id = ${logoutId}`

/** A logout, or null. As the worker role. */
export function findLogout(read: Read, key: LogoutKey): Promise<LogoutRow | null> {
  return read.maybeOne(sql.type(logoutRow)`select ${columns} from oauth_logouts where ${isRow(key)}`)
}

/** Claims an attempt that is due, until `until` (ms since 1970); null if it is not due. As the worker role. */
export function claimLogout(
  tx: Tx,
  key: LogoutKey,
  { at, until }: { at: number; until: number },
): Promise<LogoutRow | null> {
  return tx.maybeOne(sql.type(logoutRow)`
    update oauth_logouts set attempts = attempts + 1, next_attempt_at = ${instant(until)}
    where ${isRow(key)} and status = 'pending' and next_attempt_at <= ${instant(at)} returning ${columns}`)
}

/** Notes what the client answered to its last attempt, and when the next one is due. As the worker role. */
export function delayLogout(
  tx: Tx,
  key: LogoutKey,
  { attempts, status, next }: { attempts: number; status: number | null; next: number },
): void {
  tx.later(sql.unsafe`
    update oauth_logouts set response_status = ${status}, next_attempt_at = ${instant(next)}
    where ${isRow(key)} and status = 'pending' and attempts = ${attempts}`)
}

/** Ends a logout that is pending, with what the client answered. As the worker role. */
export function endLogout(
  tx: Tx,
  key: LogoutKey,
  { to, status, at }: { to: 'delivered' | 'failed'; status: number | null; at: number },
): void {
  tx.later(sql.unsafe`
    update oauth_logouts
    set status = ${to}, response_status = ${status}, next_attempt_at = null, ended_at = ${instant(at)}
    where ${isRow(key)} and status = 'pending'`)
}

/** Deletes at most `limit` logouts that ended before `before` (ms since 1970); returns how many. As the worker role. */
export async function deleteLogoutsBefore(tx: Tx, before: number, limit: number): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    delete from oauth_logouts where (tenant_id, id) in (
      select tenant_id, id from oauth_logouts where ended_at < ${instant(before)}
      order by ended_at limit ${limit})`)
  return rowCount
}
