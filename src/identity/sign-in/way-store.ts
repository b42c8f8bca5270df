import { z } from 'zod'
import { idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { systemRoles } from '../../policy-engine/catalogue/actions.ts'
import type { Connection } from '../../request/caller.ts'

const connectionRow = z.object({
  is_disabled: z.boolean(),
  trusts_mfa: z.boolean(),
  activator: z
    .object({ systemRoles: z.array(z.enum(systemRoles)), permissions: z.array(z.string()) })
    .nullable(),
})

/**
 * Holds a connection until the transaction ends, so that what ends the sessions by it comes first, or finds the session that begins here.
 * Call it before identities are locked, as a deletion of the connection does. As the system role.
 */
export const holdConnection = (tx: Tx, { tenantId, id }: Connection): void =>
  tx.later(sql.unsafe`select 1 from connections where tenant_id = ${tenantId} and id = ${id} for share`)

/** What a connection may do, with what its activator held; null: it was deleted. As the system role. */
export const findWayOf = (
  tx: Tx,
  { tenantId, id }: Connection,
): Promise<z.infer<typeof connectionRow> | null> =>
  tx.maybeOne(sql.type(connectionRow)`
    select status = 'disabled' as is_disabled, trusts_mfa, activator
    from connections where tenant_id = ${tenantId} and id = ${id}`)

/** Up to two active connections of a tenant, the oldest first. As the system role. */
export const listActiveConnections = (tx: Tx, tenantId: string): Promise<readonly string[]> =>
  tx.anyFirst(sql.type(idRow)`
    select id from connections where tenant_id = ${tenantId} and status = 'active' order by created_at, id limit 2`)
