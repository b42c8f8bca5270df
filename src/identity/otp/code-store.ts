import { z } from 'zod'
import { sql, type Tx } from '../../platform/db/transaction.ts'

const deviceId = z.object({ id: z.uuid() })

interface Owner {
  userId: string
  at: number
}

/** Gives the id of the person's e-mail device, which is made where there is none. */
export function putEmailDevice(tx: Tx, device: Owner & { id: string }): Promise<string> {
  const at = sql.timestamp(new Date(device.at))
  return tx.oneFirst(sql.type(deviceId)`
    insert into otp_devices (user_id, id, type, name, created_at, confirmed_at)
    values (${device.userId}, ${device.id}, 'email', 'E-mail', ${at}, ${at})
    on conflict (user_id, type) where type <> 'totp' or confirmed_at is null do update set name = excluded.name
    returning id`)
}

/** Keeps the hash of a code that is being sent, for the sign-in that asked for it. */
export async function insertEmailCode(
  tx: Tx,
  code: Owner & { id: string; deviceId: string; signInId: string; hash: Buffer; expiresAt: number },
): Promise<void> {
  await tx.query(sql.unsafe`
    insert into otp_email_codes (user_id, id, device_id, sign_in_id, code_hash, created_at, expires_at)
    values (${code.userId}, ${code.id}, ${code.deviceId}, ${code.signInId}, ${sql.binary(code.hash)},
            ${sql.timestamp(new Date(code.at))}, ${sql.timestamp(new Date(code.expiresAt))})`)
}

/**
 * Uses up a code sent by e-mail, if one of `hashes` is unused, not expired, and was asked for by this sign-in; gives
 * the device's id, or null. Of any number who show it one gets the id; as the system role.
 */
export async function consumeEmailCode(
  tx: Tx,
  { userId, signInId, hashes, at: now }: Owner & { signInId: string; hashes: readonly Buffer[] },
): Promise<string | null> {
  const at = sql.timestamp(new Date(now))
  const [used] = await tx.anyFirst(sql.type(deviceId)`
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
  /** Null: at once. */
  countsFrom: number | null
  signInId: string
}

/** Gives the id of the person's set of recovery codes; whoever makes a new one meanwhile waits. */
export function putRecoverySet(tx: Tx, set: RecoverySet): Promise<string> {
  const at = sql.timestamp(new Date(set.at))
  const countsFrom = set.countsFrom === null ? null : sql.timestamp(new Date(set.countsFrom))
  return tx.oneFirst(sql.type(deviceId)`
    insert into otp_devices (user_id, id, type, name, created_at, confirmed_at, counts_from, shown_in)
    values (${set.userId}, ${set.id}, 'static', 'Recovery codes', ${at}, ${at}, ${countsFrom}, ${set.signInId})
    on conflict (user_id, type) where type <> 'totp' or confirmed_at is null do update set
      created_at = excluded.created_at, counts_from = excluded.counts_from, shown_in = excluded.shown_in
    returning id`)
}

/** Replaces whatever is left of a set by new codes. The set has to be held by {@link putRecoverySet}. */
export async function replaceRecoveryCodes(
  tx: Tx,
  set: { userId: string; deviceId: string; hashes: readonly Buffer[] },
): Promise<void> {
  await tx.query(sql.unsafe`delete from otp_recovery_codes where user_id = ${set.userId}`)
  await tx.query(sql.unsafe`
    insert into otp_recovery_codes (user_id, device_id, code_hash)
    select ${set.userId}, ${set.deviceId}, hash from unnest(${sql.array(set.hashes, 'bytea')}) as hash`)
}

const setRow = z.object({ id: z.uuid(), counts_from: z.number().nullable() })

/**
 * Takes a recovery code off its set; gives the set, and from when it counts, or null; one of many gets it; as the
 * system role.
 */
export async function consumeRecoveryCode(
  tx: Tx,
  { userId, hashes, at }: Owner & { hashes: readonly Buffer[] },
): Promise<z.infer<typeof setRow> | null> {
  const [set] = await tx.anyFirst(sql.type(deviceId)`
    delete from otp_recovery_codes
    where user_id = ${userId} and code_hash = any(${sql.array(hashes, 'bytea')}) returning device_id as id`)
  return set === undefined ? null : touchDevice(tx, { userId, at }, set)
}

function touchDevice(tx: Tx, { userId, at }: Owner, id: string): Promise<z.infer<typeof setRow>> {
  return tx.one(sql.type(setRow)`
    update otp_devices set last_used_at = ${sql.timestamp(new Date(at))}
    where user_id = ${userId} and id = ${id} returning id, counts_from`)
}

/** Voids up to `limit` unused codes of the installation that were mailed; gives how many. As the system role. */
export async function voidSomeCodes(tx: Tx, at: number, limit: number): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    update otp_email_codes set used_at = ${sql.timestamp(new Date(at))}
    where used_at is null and id = any(array(select id from otp_email_codes where used_at is null limit ${limit}))`)
  return rowCount
}
