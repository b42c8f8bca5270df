import { z } from 'zod'
import { sql, type Tx } from '../../platform/db/transaction.ts'

/** The address of a person, whose row nobody else changes or refers to until the transaction ends; null: gone. */
export function holdPerson(tx: Tx, id: string): Promise<string | null> {
  return tx.maybeOneFirst(sql.type(z.object({ email: z.string() }))`
    select email from users where id = ${id} for update`)
}

/** Deletes a person with all that refers to them: memberships, sessions, factors, links, places. As the system role. */
export async function deletePerson(tx: Tx, id: string): Promise<void> {
  await tx.query(sql.unsafe`delete from users where id = ${id}`)
}

/** What is to be scrubbed after a person; `at` in ms since 1970. */
export interface NewErasure {
  userId: string
  email: string
  tenantIds: readonly string[]
  targetIds: readonly string[]
  at: number
}

/** Leaves to the workers what others keep of a person. As the system role. */
export async function insertErasure(tx: Tx, erasure: NewErasure): Promise<void> {
  await tx.query(sql.unsafe`
    insert into erasures (user_id, email, tenant_ids, target_ids, at)
    values (${erasure.userId}, ${erasure.email}, ${sql.array(erasure.tenantIds, 'uuid')},
            ${sql.array(erasure.targetIds, 'uuid')}, ${sql.timestamp(new Date(erasure.at))})`)
}
