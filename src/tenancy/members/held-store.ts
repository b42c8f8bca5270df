import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { ApiError } from '../../errors.ts'
import { isNameOfAnother } from './subject-store.ts'

const waitingRow = z.object({ id: z.uuid(), external_id: z.string().nullable(), active: z.boolean() })

/** The User of a directory (SCIM) that a person becomes as a member. */
export type WaitingUser = z.infer<typeof waitingRow>

/**
 * The User that waits for a membership of the person who has proven this address; null for none. Its `external_id` is null if it is
 * a name of another member by now. The tenant is locked.
 */
export async function findWaiting(tx: Tx, tenantId: string, email: string): Promise<WaitingUser | null> {
  const found = await tx.maybeOne(sql.type(waitingRow)`
    select d.id, d.external_id, d.active from directory_users d
    where d.tenant_id = ${tenantId} and d.email = ${email} and d.is_pending
      and not exists (select 1 from memberships m where m.tenant_id = ${tenantId} and m.id = d.id)
    order by d.id limit 1`)
  const name = found?.external_id ?? null
  if (!found || name === null || !(await isNameOfAnother(tx, tenantId, found.id, name))) return found
  return { ...found, external_id: null }
}

/** Throws 409 `held_by_directory` for a member whom a directory sent as inactive last: it alone activates them. */
export async function assertNotHeld(read: Read, tenantId: string, memberId: string): Promise<void> {
  const isHeld = await read.exists(sql.unsafe`
    select 1 from directory_users where tenant_id = ${tenantId} and id = ${memberId} and not active`)
  if (isHeld)
    throw new ApiError(
      409,
      'held_by_directory',
      'The directory of this tenant has deactivated this person. Activate them there.',
    )
}
