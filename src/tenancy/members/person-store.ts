import { listsOfValues } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'

// person_memberships says in which tenants a person is a member, so that what asks for all of them finds each by its tenant
// (src/database/memberships-of.ts). Each statement that inserts or deletes memberships of people calls a function of
// this file in its transaction, after the statement. An erased person's rows go with the row in `users`.

/** Records that people are members of a tenant. */
export function addPersonMemberships(tx: Tx, tenantId: string, userIds: readonly string[]): void {
  // A process of a release before 0086 leaves the row of a membership that it deletes.
  for (const values of listsOfValues(userIds.map((userId) => [tenantId, userId])))
    tx.later(sql.unsafe`
      insert into person_memberships (tenant_id, user_id) ${values} on conflict do nothing`)
}

/** Records that a person is no member of a tenant any more. */
export function deletePersonMembership(tx: Tx, tenantId: string, userId: string): void {
  tx.later(sql.unsafe`delete from person_memberships where tenant_id = ${tenantId} and user_id = ${userId}`)
}
