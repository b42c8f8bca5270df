import { idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'

/** The department with a name, ignoring case, which stays until the transaction ends; null for none, and for a name that fits several. */
export async function findDepartmentNamed(tx: Tx, tenantId: string, name: string): Promise<string | null> {
  const [id = null, another] = await tx.anyFirst(sql.type(idRow)`
    select id from departments where tenant_id = ${tenantId} and name_key = lower(${name}) order by id limit 2 for key share`)
  return another === undefined ? id : null
}

/** The person of a membership, who stays a member until the transaction ends, by the id of the User; null for none. */
export const findPersonOf = (tx: Tx, tenantId: string, id: string): Promise<string | null> =>
  tx.maybeOneFirst(sql.type(idRow)`
    select user_id as id from memberships where tenant_id = ${tenantId} and id = ${id} and kind = 'user' for key share`)
