import { idRow, tenantIdRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'

/** Ends up to `limit` live sessions of the whole installation; returns the tenant of each. As the system role. */
export function endSomeSessions(tx: Tx, at: number, limit: number): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(tenantIdRow)`
    update sessions set ended_at = ${instant(at)}, end_reason = 'revoked'
    where ended_at is null and id = any(array(select id from sessions where ended_at is null limit ${limit}))
    returning tenant_id`)
}

/**
 * Treats the sessions that were logged out as revoked, among the `limit` sessions that follow `after`, so that no call which
 * they stored is carried out. Returns the id of the last one, or null at the end. As the system role.
 */
export function revokeLoggedOut(tx: Tx, after: string, limit: number): Promise<string | null> {
  return tx.maybeOneFirst(sql.type(idRow)`
    with page as materialized (select id, end_reason from sessions where id > ${after} order by id limit ${limit}),
         revoked as (update sessions set end_reason = 'revoked'
                     where id in (select id from page where end_reason = 'logout'))
    select id from page order by id desc limit 1`)
}
