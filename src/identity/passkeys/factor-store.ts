import { idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'

// The part of passkeys in what otp/factor-store.ts does with all second factors. Times are in ms since 1970.

/** Locks a person's passkeys until the transaction ends. */
export async function lockPasskeys(tx: Tx, userId: string): Promise<void> {
  tx.later(sql.unsafe`select id from passkeys where user_id = ${userId} order by id for update`)
}

/** Deletes one passkey; returns its id, or nothing. */
export function deletePasskey(tx: Tx, userId: string, id: string): Promise<readonly string[]> {
  return tx.anyFirst(
    sql.type(idRow)`delete from passkeys where user_id = ${userId} and id = ${id} returning id`,
  )
}

/** Deletes a person's passkeys; returns their ids. As the system role. */
export function deleteAllPasskeys(tx: Tx, userId: string): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(idRow)`delete from passkeys where user_id = ${userId} returning id`)
}

/** Young factors of a person, and with `since` all that were made since then. */
export interface Young {
  userId: string
  since?: number
  at: number
}

/** The condition of {@link Young}, on a table of factors. */
export const isYoung = ({ since, at }: Young) =>
  since === undefined
    ? sql.fragment`counts_from > ${instant(at)}`
    : sql.fragment`(counts_from > ${instant(at)} or created_at >= ${instant(since)})`

/** Deletes a person's {@link Young} passkeys; returns their ids. As the system role. */
export function deleteYoungPasskeys(tx: Tx, young: Young): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(idRow)`
    delete from passkeys where user_id = ${young.userId} and ${isYoung(young)} returning id`)
}

/** Records the chain or the waiting sign-in that showed a young passkey. As the system role. */
export async function recordPasskeyShown(
  tx: Tx,
  { userId, deviceId, signInId }: { userId: string; deviceId: string; signInId: string },
): Promise<void> {
  tx.later(sql.unsafe`
    update passkeys set shown_in = ${signInId} where user_id = ${userId} and id = ${deviceId}`)
}

/** Moves the passkeys shown in a waiting sign-in to the chain that it became. As the system role. */
export async function movePasskeysShown(
  tx: Tx,
  { userId, pendingId, familyId }: { userId: string; pendingId: string; familyId: string },
): Promise<void> {
  tx.later(sql.unsafe`
    update passkeys set shown_in = ${familyId} where user_id = ${userId} and shown_in = ${pendingId}`)
}

/** Makes the young passkeys count that were shown in this chain or waiting sign-in; returns their ids. As the system role. */
export function provePasskeys(
  tx: Tx,
  { userId, signInId, at }: { userId: string; signInId: string; at: number },
): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(idRow)`
    update passkeys set counts_from = null
    where user_id = ${userId} and counts_from > ${instant(at)}
      and shown_in = ${signInId}
    returning id`)
}
