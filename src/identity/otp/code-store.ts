import { z } from 'zod'
import { idRow } from '../../database/executor/row-schemas.ts'
import { listsOfValues } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'

interface Owner {
  userId: string
  at: number
}

// Codes that are sent or kept, and the attempts to guess one. Times are in ms since 1970.

/** Returns the id of the person's e-mail device; creates the device if there is none. */
export function putEmailDevice(tx: Tx, device: Owner & { id: string }): Promise<string> {
  const at = instant(device.at)
  return tx.oneFirst(sql.type(idRow)`
    insert into otp_devices (user_id, id, type, name, created_at, confirmed_at)
    values (${device.userId}, ${device.id}, 'email', 'E-mail', ${at}, ${at})
    on conflict (user_id, type) where type <> 'totp' or confirmed_at is null do update set name = excluded.name
    returning id`)
}

/** Stores the hash of a mailed code, for the sign-in that asked for it. */
export async function insertEmailCode(
  tx: Tx,
  code: Owner & { id: string; deviceId: string; signInId: string; hash: Buffer; expiresAt: number },
): Promise<void> {
  tx.later(sql.unsafe`
    insert into otp_email_codes (user_id, id, device_id, sign_in_id, code_hash, created_at, expires_at)
    values (${code.userId}, ${code.id}, ${code.deviceId}, ${code.signInId}, ${sql.binary(code.hash)},
            ${instant(code.at)}, ${instant(code.expiresAt)})`)
}

/**
 * Uses up a mailed code, if one of `hashes` is unused, not expired, and was sent for this sign-in; returns the device's
 * id, or null. Of parallel calls only one gets the id. As the system role.
 */
export async function consumeEmailCode(
  tx: Tx,
  { userId, signInId, hashes, at: now }: Owner & { signInId: string; hashes: readonly Buffer[] },
): Promise<string | null> {
  const at = instant(now)
  const [used] = await tx.anyFirst(sql.type(idRow)`
    update otp_email_codes set used_at = ${at}
    where user_id = ${userId} and code_hash = any(${sql.array(hashes, 'bytea')}) and used_at is null and expires_at > ${at}
      and (sign_in_id is null or sign_in_id = ${signInId})
    returning device_id as id`)
  if (used === undefined) return null
  await touchDevice(tx, { userId, at: now }, used)
  return used
}

interface RecoverySet extends Owner {
  id: string
  /** Null for at once. */
  countsFrom: number | null
  signInId: string
}

/** Returns the id of the person's set of recovery codes, and locks it: a parallel call waits. */
export function putRecoverySet(tx: Tx, set: RecoverySet): Promise<string> {
  const at = instant(set.at)
  const countsFrom = instant(set.countsFrom)
  return tx.oneFirst(sql.type(idRow)`
    insert into otp_devices (user_id, id, type, name, created_at, confirmed_at, counts_from, shown_in)
    values (${set.userId}, ${set.id}, 'static', 'Recovery codes', ${at}, ${at}, ${countsFrom}, ${set.signInId})
    on conflict (user_id, type) where type <> 'totp' or confirmed_at is null do update set
      created_at = excluded.created_at, counts_from = excluded.counts_from, shown_in = excluded.shown_in
    returning id`)
}

/** Replaces the remaining codes of a set by new ones. Lock the set with {@link putRecoverySet} first. */
export async function replaceRecoveryCodes(
  tx: Tx,
  set: { userId: string; deviceId: string; hashes: readonly Buffer[] },
): Promise<void> {
  tx.later(sql.unsafe`delete from otp_recovery_codes where user_id = ${set.userId}`)
  for (const values of listsOfValues(set.hashes.map((hash) => [set.userId, set.deviceId, hash])))
    tx.later(sql.unsafe`insert into otp_recovery_codes (user_id, device_id, code_hash) ${values}`)
}

const setRow = z.object({ id: z.uuid(), counts_from: z.number().nullable() })

/**
 * Deletes a recovery code from its set; returns the set and when it begins to count, or null. Of parallel calls only one
 * gets the set. As the system role.
 */
export async function consumeRecoveryCode(
  tx: Tx,
  { userId, hashes, at }: Owner & { hashes: readonly Buffer[] },
): Promise<z.infer<typeof setRow> | null> {
  const [set] = await tx.anyFirst(sql.type(idRow)`
    delete from otp_recovery_codes
    where user_id = ${userId} and code_hash = any(${sql.array(hashes, 'bytea')}) returning device_id as id`)
  return set === undefined ? null : touchDevice(tx, { userId, at }, set)
}

function touchDevice(tx: Tx, { userId, at }: Owner, id: string): Promise<z.infer<typeof setRow>> {
  return tx.one(sql.type(setRow)`
    update otp_devices set last_used_at = ${instant(at)}
    where user_id = ${userId} and id = ${id} returning id, counts_from`)
}

/** Voids up to `limit` unused mailed codes of the whole installation; returns how many. As the system role. */
export async function voidSomeCodes(tx: Tx, at: number, limit: number): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    update otp_email_codes set used_at = ${instant(at)}
    where used_at is null and id = any(array(select id from otp_email_codes where used_at is null limit ${limit}))`)
  return rowCount
}

/** Limits on checks of second factors: in a window, and in a row before all are refused for `lock`; times in ms. */
export const guessing = { window: 300_000, inWindow: 5, inRow: 10, lock: 900_000 }

const attempts = z.object({ recent: z.array(z.number()), in_a_row: z.number(), last_at: z.number() })

/**
 * Counts a check of a second factor as wrong before it is made; false, and nothing is counted, after too many. One
 * statement, so that parallel calls cannot exceed the limit. The last checks of a window are kept, the oldest first. As the
 * system role.
 */
export async function countAttempt(tx: Tx, { userId, at }: Owner): Promise<boolean> {
  const now = instant(at)
  const since = instant(at - guessing.window)
  // coalesce: no column is set to a slice (src/database/forms.md).
  const admitted = await tx.maybeOne(sql.type(attempts)`
    insert into otp_attempts as a (user_id, recent, in_a_row, last_at) values (${userId}, array[${now}], 1, ${now})
    on conflict (user_id) do update set
      recent = coalesce((a.recent || ${now})[greatest(cardinality(a.recent) + 2 - ${guessing.inWindow}, 1):], '{}'),
      in_a_row = case when a.in_a_row >= ${guessing.inRow} then 1 else a.in_a_row + 1 end,
      last_at = ${now}
    where (a.in_a_row < ${guessing.inRow} or a.last_at <= ${instant(at - guessing.lock)})
      and coalesce(a.recent[cardinality(a.recent) + 1 - ${guessing.inWindow}] <= ${since}, true)
    returning recent, in_a_row, last_at`)
  return admitted !== null
}

/**
 * Whether all checks are refused at `at` and the person was not told of this pause yet: of all refusals of a pause, one
 * gets true. As the system role.
 */
export async function beginNotice(tx: Tx, { userId, at }: Owner): Promise<boolean> {
  const told = await tx.maybeOne(sql.type(attempts)`
    update otp_attempts set told_of = last_at
    where user_id = ${userId} and in_a_row >= ${guessing.inRow} and last_at > ${instant(at - guessing.lock)}
      and told_of is distinct from last_at
    returning recent, in_a_row, last_at`)
  return told !== null
}

/** Takes back the attempt counted at `at`, because it was right: resets the wrong ones in a row, keeps the window. */
export async function forgiveAttempt(tx: Tx, { userId, at }: Owner): Promise<void> {
  const now = instant(at)
  tx.later(sql.unsafe`
    update otp_attempts set in_a_row = 0,
      recent = case when array_position(recent, ${now}) is null then recent
        else recent[:array_position(recent, ${now}) - 1] || recent[array_position(recent, ${now}) + 1:] end
    where user_id = ${userId}`)
}

/** Seconds until the next check is admitted, at least 1. As the system role. */
export async function secondsUntilAdmitted(tx: Tx, { userId, at }: Owner): Promise<number> {
  const row = await tx.maybeOne(sql.type(attempts)`
    select recent, in_a_row, last_at from otp_attempts where user_id = ${userId}`)
  if (!row) return 1
  const fifthLast = row.recent.at(-guessing.inWindow) ?? 0
  const ends = [fifthLast + guessing.window, row.in_a_row >= guessing.inRow ? row.last_at + guessing.lock : 0]
  return Math.max(1, Math.ceil((Math.max(...ends) - at) / 1000))
}
