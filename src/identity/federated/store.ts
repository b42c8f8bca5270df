import { idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'

interface IdentityOf {
  id: string
  userId: string
}

/** Whether an identity is the person's; if so, it stays so until the transaction ends. As the system role. */
export async function lockIdentity(tx: Tx, { id, userId }: IdentityOf): Promise<boolean> {
  const held = await tx.maybeOne(sql.type(idRow)`
    select id from federated_identities where id = ${id} and user_id = ${userId} for no key update`)
  return held !== null
}

/** Records a sign-in with a locked identity. As the system role. */
export function recordIdentityUse(tx: Tx, { id, userId, at }: IdentityOf & { at: number }): void {
  tx.later(sql.unsafe`
    update federated_identities set last_used_at = ${instant(at)} where id = ${id} and user_id = ${userId}`)
}

/** Unlinks all identities of a person. As the system role. */
export function deleteIdentitiesOf(tx: Tx, userId: string): void {
  tx.later(sql.unsafe`delete from federated_identities where user_id = ${userId}`)
}
