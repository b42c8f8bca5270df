import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { isProven } from '../../database/proven-address.ts'
import { defineList, type ListPage } from '../../lists/list.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import {
  deleteAllPasskeys,
  deletePasskey,
  deleteYoungPasskeys,
  isYoung,
  lockPasskeys,
  movePasskeysShown,
  provePasskeys,
  recordPasskeyShown,
  type Young,
} from '../passkeys/store.ts'
import { deviceTypes } from './channels.ts'

const deviceRow = z.object({
  id: z.uuid(),
  type: z.enum(deviceTypes),
  name: z.string(),
  created_at: z.number(),
  confirmed_at: z.number().nullable(),
  last_used_at: z.number().nullable(),
  remaining_codes: z.number().nullable(),
  /** The device counts if this is null or past. */
  counts_from: z.number().nullable(),
})

export type DeviceRow = z.infer<typeof deviceRow>

/** The devices of all kinds. */
const devices = sql.fragment`(
  select user_id, id, type, name, created_at, confirmed_at, last_used_at, counts_from from otp_devices union all
  select user_id, id, 'passkey', name, created_at, created_at, last_used_at, counts_from from passkeys) d`

const columns = sql.fragment`
  d.id, d.type, d.name, d.created_at, d.confirmed_at, d.last_used_at,
  case d.type when 'static' then (select count(*) from otp_recovery_codes c where c.user_id = d.user_id and c.device_id = d.id)
  end as remaining_codes,
  case d.type when 'email' then (select u.mailed_codes_count_from from users u where u.id = d.user_id)
    else d.counts_from end as counts_from`

/** The e-mail device is listed only while the person's address is verified. */
const listed = sql.fragment`
  (d.type <> 'email' or exists (select 1 from users u where u.id = d.user_id and ${isProven}))`

/** Devices are listed oldest first. */
export const deviceList = defineList({
  id: { column: sql.fragment`d.id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`d.created_at`, field: 'created_at' } },
})

/** A page of a person's devices. */
export function listDevices(tx: Read, userId: string, page: ListPage): Promise<readonly DeviceRow[]> {
  return tx.any(sql.type(deviceRow)`
    select ${columns} from ${devices} where d.user_id = ${userId} and ${listed} ${page.tail}`)
}

/** How many devices {@link listDevices} lists over all pages. */
export function countDevices(tx: Read, userId: string, page: ListPage): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from ${devices} where d.user_id = ${userId} and ${listed} ${page.conditions}`)
}

/** One of a person's listed devices, or null. */
export function findDevice(tx: Read, userId: string, id: string): Promise<DeviceRow | null> {
  return tx.maybeOne(sql.type(deviceRow)`
    select ${columns} from ${devices} where d.user_id = ${userId} and d.id = ${id} and ${listed}`)
}

interface NewTotp {
  id: string
  userId: string
  name: string
  secretSealed: Buffer
  /** The sign-in that sets it up. */
  signInId: string
  at: number
}

/**
 * Inserts a TOTP device that is being set up, or replaces one that was never confirmed. The values are repeated, because
 * `excluded` would need the privilege to read the secret.
 */
export async function putUnconfirmedTotp(tx: Tx, device: NewTotp): Promise<void> {
  const { id, userId, name, signInId } = device
  const secret = sql.binary(device.secretSealed)
  const at = instant(device.at)
  tx.later(sql.unsafe`
    insert into otp_devices (user_id, id, type, name, secret_sealed, shown_in, created_at)
    values (${userId}, ${id}, 'totp', ${name}, ${secret}, ${signInId}, ${at})
    on conflict (user_id, type) where type <> 'totp' or confirmed_at is null do update set
      id = ${id}, name = ${name}, secret_sealed = ${secret}, shown_in = ${signInId}, created_at = ${at}`)
}

interface ImportedTotp {
  userId: string
  /** Seals the secret for a device. */
  seal(deviceId: string): Buffer
  at: number
}

/** Inserts a confirmed app (TOTP) that the person used before. It counts at once. */
export function insertTotp(tx: Tx, { userId, seal, at }: ImportedTotp): void {
  const id = timeOrderedId(at)
  tx.later(sql.unsafe`
    insert into otp_devices (user_id, id, type, name, secret_sealed, created_at, confirmed_at)
    values (${userId}, ${id}, 'totp', 'Authenticator app', ${sql.binary(seal(id))}, ${instant(at)}, ${instant(at)})`)
}

const totpDevice = z.object({ id: z.uuid(), confirmed: z.boolean() })

const begunTotp = totpDevice.extend({ created_at: z.number(), shown_in: z.uuid().nullable() })

/** A person's TOTP devices without their secrets, oldest first; `shown_in` is the sign-in that set one up. */
export function listTotpDevices(tx: Tx, userId: string): Promise<readonly z.infer<typeof begunTotp>[]> {
  return tx.any(sql.type(begunTotp)`
    select id, confirmed_at is not null as confirmed, created_at, shown_in from otp_devices
    where user_id = ${userId} and type = 'totp' order by created_at, id`)
}

const totpRow = totpDevice.extend({
  secret_sealed: z.instanceof(Buffer),
  last_step: z.number().nullable(),
})

export type TotpRow = z.infer<typeof totpRow>

/** A person's TOTP devices with their secrets, confirmed or not, oldest first. As the system role. */
export function listTotpSecrets(tx: Tx, userId: string): Promise<readonly TotpRow[]> {
  return tx.any(sql.type(totpRow)`
    select id, secret_sealed, last_step, confirmed_at is not null as confirmed from otp_devices
    where user_id = ${userId} and type = 'totp' order by created_at, id`)
}

interface TotpUse {
  userId: string
  id: string
  /** The sealed secret as read before; if it differs now, the device was set up again. */
  sealed: Buffer
  /** The same secret under the newest key. */
  resealed: Buffer
  at: number
}

const weight = z.object({ counts_from: z.number().nullable() })

/**
 * Uses up a time step of a confirmed device, so that its code works once; returns when the device begins to count. Of
 * parallel calls only one gets it, the others null. As the system role.
 */
export function spendTotpStep(
  tx: Tx,
  use: TotpUse & { step: number },
): Promise<z.infer<typeof weight> | null> {
  return tx.maybeOne(sql.type(weight)`
    update otp_devices set last_step = ${use.step}, last_used_at = ${instant(use.at)},
                           secret_sealed = ${sql.binary(use.resealed)}
    where user_id = ${use.userId} and id = ${use.id} and secret_sealed = ${sql.binary(use.sealed)}
      and confirmed_at is not null and (last_step is null or last_step < ${use.step})
    returning counts_from`)
}

interface Confirmation extends TotpUse {
  /** The time step to use up, if the confirmation completes a sign-in. */
  step: number | null
  /** Null for at once. */
  countsFrom: number | null
  signInId: string
}

/** Confirms a device; false if it was confirmed or set up again meanwhile. As the system role. */
export async function confirmTotpDevice(tx: Tx, use: Confirmation): Promise<boolean> {
  const at = instant(use.at)
  const countsFrom = instant(use.countsFrom)
  const confirmed = await tx.maybeOne(sql.type(idRow)`
    update otp_devices set confirmed_at = ${at}, last_used_at = ${at}, last_step = ${use.step},
                           secret_sealed = ${sql.binary(use.resealed)},
                           counts_from = ${countsFrom}, shown_in = ${use.signInId}
    where user_id = ${use.userId} and id = ${use.id} and type = 'totp' and confirmed_at is null
      and secret_sealed = ${sql.binary(use.sealed)} returning id`)
  return confirmed !== null
}

/** Makes a verified address a second factor (an e-mail device) at `at` (ms since 1970), unless the person has one. */
export function makeEmailDevice(tx: Tx, userId: string, at: number): void {
  const since = instant(at)
  tx.later(sql.unsafe`
    insert into otp_devices (user_id, id, type, name, created_at, confirmed_at)
    values (${userId}, ${timeOrderedId(at)}, 'email', 'E-mail', ${since}, ${since})
    on conflict (user_id, type) where type <> 'totp' or confirmed_at is null do nothing`)
}

const couldRow = z.object({ could: z.boolean() })

// What holds for every kind of second factor: TOTP devices and recovery codes in otp_devices, passkeys in passkeys.
// Which factors count: docs/explanation/second-factors.md. Times are in ms since 1970.

const factorsRow = z.object({
  passkey: z.boolean(),
  passkey_counts: z.boolean(),
  totp: z.boolean(),
  totp_counts: z.boolean(),
  recovery_codes: z.number(),
  recovery_count: z.boolean(),
  address_proven: z.boolean(),
  mailed_codes_count: z.boolean(),
})

/** The factors of a person. */
export type Factors = z.infer<typeof factorsRow>

/**
 * The factors that a person can show at `at` (ms), and which of them count: passkeys, confirmed TOTP devices, remaining
 * recovery codes and codes by e-mail; and whether the address for these codes is proven. Null for an erased person.
 */
export function findFactors(tx: Tx, userId: string, at: number): Promise<Factors | null> {
  const now = instant(at)
  const counts = sql.fragment`(d.counts_from is null or d.counts_from <= ${now})`
  return tx.maybeOne(sql.type(factorsRow)`
    select d.*, p.*, (select count(*) from otp_recovery_codes where user_id = u.id) as recovery_codes,
           ${isProven} or coalesce(u.codes_until > ${now}, false) as address_proven,
           coalesce(u.mailed_codes_count_from <= ${now}, true) as mailed_codes_count
    from users u
    cross join lateral (
      select coalesce(bool_or(d.type = 'totp' and d.confirmed_at is not null), false) as totp,
             coalesce(bool_or(d.type = 'totp' and d.confirmed_at is not null and ${counts}), false) as totp_counts,
             coalesce(bool_or(d.type = 'static' and ${counts}), false) as recovery_count
      from otp_devices d where d.user_id = u.id) d
    cross join lateral (
      select count(*) > 0 as passkey, coalesce(bool_or(${counts}), false) as passkey_counts
      from passkeys d where d.user_id = u.id) p
    where u.id = ${userId}`)
}

/** Whether any person has a factor that turns MFA on. As the system role. */
export function hasConfirmedDevices(tx: Tx): Promise<boolean> {
  return tx.exists(sql.unsafe`
    select 1 from (
      (select user_id from otp_devices where type = 'totp' and confirmed_at is not null limit 1) union all
      (select user_id from passkeys limit 1)) d`)
}

/** Locks a person's devices until the transaction ends, so that changes that depend on the set run one after another. */
export async function lockDevices(tx: Tx, userId: string): Promise<void> {
  tx.later(sql.unsafe`select id from otp_devices where user_id = ${userId} order by id for update`)
  await lockPasskeys(tx, userId)
}

/** Deletes a device with its codes. */
export async function deleteDevice(tx: Tx, userId: string, id: string): Promise<void> {
  tx.later(sql.unsafe`delete from otp_devices where user_id = ${userId} and id = ${id}`)
  await deletePasskey(tx, userId, id)
}

/** Whether a person has a passkey or a confirmed TOTP device other than this one. */
export function hasOtherFactor(tx: Tx, userId: string, id: string): Promise<boolean> {
  return tx.exists(sql.unsafe`
    select 1 from otp_devices where user_id = ${userId} and id <> ${id} and type = 'totp' and confirmed_at is not null
    union all select 1 from passkeys where user_id = ${userId} and id <> ${id}`)
}

/**
 * Whether a person can use codes by e-mail: their address is proven and has been the account's since `since`, or codes
 * still go to the proven address before it. Never for an account created after `since`.
 */
export function couldMail(
  tx: Tx,
  { userId, since, at }: { userId: string; since: number; at: number },
): Promise<boolean> {
  return tx.oneFirst(sql.type(couldRow)`
    select date_joined <= ${instant(since)}
       and (coalesce(codes_until > ${instant(at)}, false)
            or ${isProven} and coalesce(address_since, date_joined) <= ${instant(since)}) as could
    from users u where u.id = ${userId}`)
}

const hadRow = z.object({ had: z.boolean() })

/**
 * Whether a person had an app, a passkey or recovery codes by `since` (ms since 1970). Codes alone do not count beside a newer app or
 * passkey: the password is enough to add one to them. As the system role.
 */
export function hadDevice(tx: Tx, { userId, since }: { userId: string; since: number }): Promise<boolean> {
  const apps = sql.fragment`otp_devices where user_id = ${userId} and type = 'totp' and confirmed_at`
  const passkeys = sql.fragment`passkeys where user_id = ${userId} and created_at`
  return tx.oneFirst(sql.type(hadRow)`
    select exists (select 1 from ${apps} <= ${instant(since)}) or exists (select 1 from ${passkeys} <= ${instant(since)})
      or exists (select 1 from otp_recovery_codes c join otp_devices d on d.user_id = c.user_id and d.id = c.device_id
                 where c.user_id = ${userId} and d.created_at <= ${instant(since)})
         and not exists (select 1 from ${apps} is not null) and not exists (select 1 from ${passkeys} is not null) as had`)
}

/** Records the chain or the waiting sign-in that showed a young factor. As the system role. */
export async function recordShown(
  tx: Tx,
  shown: { userId: string; deviceId: string; signInId: string },
): Promise<void> {
  tx.later(sql.unsafe`
    update otp_devices set shown_in = ${shown.signInId}
    where user_id = ${shown.userId} and id = ${shown.deviceId}`)
  await recordPasskeyShown(tx, shown)
}

/** Moves the factors shown in a waiting sign-in to the chain that it became. As the system role. */
export async function moveShown(
  tx: Tx,
  shown: { userId: string; pendingId: string; familyId: string },
): Promise<void> {
  tx.later(sql.unsafe`
    update otp_devices set shown_in = ${shown.familyId}
    where user_id = ${shown.userId} and shown_in = ${shown.pendingId}`)
  await movePasskeysShown(tx, shown)
}

/**
 * Makes the young factors count that were enrolled or shown in this chain or waiting sign-in; returns their ids. As the
 * system role.
 */
export async function proveDevices(
  tx: Tx,
  proof: { userId: string; signInId: string; at: number },
): Promise<readonly string[]> {
  const { userId, signInId, at } = proof
  const devices = await tx.anyFirst(sql.type(idRow)`
    update otp_devices set counts_from = null
    where user_id = ${userId} and counts_from > ${instant(at)} and confirmed_at is not null
      and shown_in = ${signInId}
    returning id`)
  return [...devices, ...(await provePasskeys(tx, proof))]
}

const removedRow = z.object({ id: z.uuid(), type: z.enum(deviceTypes) })
const deletedRow = removedRow.extend({ confirmed: z.boolean() })

/** A factor that was deleted. */
export type Removed = z.infer<typeof removedRow>

const removedPasskeys = (ids: readonly string[]): Removed[] => ids.map((id) => ({ id, type: 'passkey' }))

/**
 * Deletes a person's young factors and those made since `since`, with their codes; returns them. An app is made when it is
 * confirmed, which can be some minutes after its set-up began. As the system role.
 */
export async function deleteYoungDevices(tx: Tx, young: Young): Promise<readonly Removed[]> {
  const { userId, since } = young
  const devices = await tx.any(sql.type(removedRow)`
    delete from otp_devices
    where user_id = ${userId} and type <> 'email'
      and (${isYoung(young)} or confirmed_at >= ${since === undefined ? null : instant(since)}::timestamptz)
    returning id, type`)
  return [...devices, ...removedPasskeys(await deleteYoungPasskeys(tx, young))]
}

/** Deletes one factor with its codes, unless it is the e-mail device; returns it, or null. As the system role. */
export async function deleteOneDevice(
  tx: Tx,
  { userId, id }: { userId: string; id: string },
): Promise<Removed | null> {
  const device = await tx.maybeOne(sql.type(removedRow)`
    delete from otp_devices where user_id = ${userId} and id = ${id} and type <> 'email' returning id, type`)
  const [passkey] = removedPasskeys(await deletePasskey(tx, userId, id))
  return device ?? passkey ?? null
}

/** Deletes all passkeys, apps and recovery codes of a person; returns those that were confirmed. As the system role. */
export async function deleteAllDevices(tx: Tx, userId: string): Promise<readonly Removed[]> {
  const deleted = await tx.any(sql.type(deletedRow)`
    delete from otp_devices where user_id = ${userId} and type <> 'email'
    returning id, type, confirmed_at is not null as confirmed`)
  const devices = deleted.filter(({ confirmed }) => confirmed)
  return [...devices, ...removedPasskeys(await deleteAllPasskeys(tx, userId))]
}
