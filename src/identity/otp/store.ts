import { z } from 'zod'
import { defineList, type ListPage } from '../../platform/db/list.ts'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import { deviceTypes } from './channels.ts'

const deviceRow = z.object({
  id: z.uuid(),
  type: z.enum(deviceTypes),
  name: z.string(),
  created_at: z.number(),
  confirmed_at: z.number().nullable(),
  last_used_at: z.number().nullable(),
  remaining_codes: z.number().nullable(),
})

export type DeviceRow = z.infer<typeof deviceRow>

const columns = sql.fragment`
  d.id, d.type, d.name, d.created_at, d.confirmed_at, d.last_used_at,
  case d.type when 'static' then (select count(*) from otp_recovery_codes c where c.user_id = d.user_id and c.device_id = d.id)
  end as remaining_codes`

/** The e-mail device shows while the person's address is verified; the rest always. */
const listed = sql.fragment`
  (d.type <> 'email' or exists (select 1 from users u where u.id = d.user_id and u.email_verified_at is not null))`

/** The devices of a person, oldest first. */
export const deviceList = defineList({
  id: { column: sql.fragment`d.id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`d.created_at`, field: 'created_at' } },
})

/** A page of a person's devices. */
export function listDevices(tx: Tx, userId: string, page: ListPage): Promise<readonly DeviceRow[]> {
  return tx.any(sql.type(deviceRow)`
    select ${columns} from otp_devices d where d.user_id = ${userId} and ${listed} ${page.tail}`)
}

/** How many devices `listDevices` lists in all. */
export function countDevices(tx: Tx, userId: string, page: ListPage): Promise<number> {
  return tx.oneFirst(sql.type(z.object({ count: z.number() }))`
    select count(*) from otp_devices d where d.user_id = ${userId} and ${listed} ${page.conditions}`)
}

/** One of a person's devices that is listed, or null. */
export function findDevice(tx: Tx, userId: string, id: string): Promise<DeviceRow | null> {
  return tx.maybeOne(sql.type(deviceRow)`
    select ${columns} from otp_devices d where d.user_id = ${userId} and d.id = ${id} and ${listed}`)
}

/** Holds a person's devices until the transaction ends: what depends on which there are goes one at a time. */
export async function lockDevices(tx: Tx, userId: string): Promise<void> {
  await tx.query(sql.unsafe`select id from otp_devices where user_id = ${userId} order by id for update`)
}

/** Deletes a device with its codes. */
export async function deleteDevice(tx: Tx, userId: string, id: string): Promise<void> {
  await tx.query(sql.unsafe`delete from otp_devices where user_id = ${userId} and id = ${id}`)
}

/** Whether a person has a confirmed TOTP device other than this one. */
export function hasOtherTotp(tx: Tx, userId: string, id: string): Promise<boolean> {
  return tx.exists(sql.unsafe`
    select 1 from otp_devices where user_id = ${userId} and id <> ${id} and type = 'totp' and confirmed_at is not null`)
}

interface NewTotp {
  id: string
  userId: string
  name: string
  secretSealed: Buffer
  at: number
}

/**
 * Keeps a TOTP device that is being set up; it takes the place of an earlier one that never was confirmed. Values
 * stand twice, for `excluded` would need the right to read the secret.
 */
export async function putUnconfirmedTotp(tx: Tx, device: NewTotp): Promise<void> {
  const { id, userId, name } = device
  const secret = sql.binary(device.secretSealed)
  const at = sql.timestamp(new Date(device.at))
  await tx.query(sql.unsafe`
    insert into otp_devices (user_id, id, type, name, secret_sealed, created_at)
    values (${userId}, ${id}, 'totp', ${name}, ${secret}, ${at})
    on conflict (user_id, type) where type <> 'totp' or confirmed_at is null do update set
      id = ${id}, name = ${name}, secret_sealed = ${secret}, created_at = ${at}`)
}

const totpDevice = z.object({ id: z.uuid(), confirmed: z.boolean() })

/** A person's TOTP devices without their secrets, oldest first. */
export function listTotpDevices(tx: Tx, userId: string): Promise<readonly z.infer<typeof totpDevice>[]> {
  return tx.any(sql.type(totpDevice)`
    select id, confirmed_at is not null as confirmed from otp_devices
    where user_id = ${userId} and type = 'totp' order by created_at, id`)
}

const totpRow = totpDevice.extend({
  secret_sealed: z.instanceof(Buffer),
  last_step: z.number().nullable(),
})

export type TotpRow = z.infer<typeof totpRow>

/** A person's TOTP devices with their secrets, confirmed or not, oldest first; as the system role. */
export function listTotpSecrets(tx: Tx, userId: string): Promise<readonly TotpRow[]> {
  return tx.any(sql.type(totpRow)`
    select id, secret_sealed, last_step, confirmed_at is not null as confirmed from otp_devices
    where user_id = ${userId} and type = 'totp' order by created_at, id`)
}

interface TotpUse {
  userId: string
  id: string
  /** As it was read; another secret there means another device by now. */
  sealed: Buffer
  /** The same secret under the newest key. */
  resealed: Buffer
  at: number
}

/** Burns a step of a confirmed device; of any number who show its code one gets true; as the system role. */
export async function burnTotpStep(tx: Tx, use: TotpUse & { step: number }): Promise<boolean> {
  const burnt = await tx.maybeOne(sql.type(z.object({ id: z.uuid() }))`
    update otp_devices set last_step = ${use.step}, last_used_at = ${sql.timestamp(new Date(use.at))},
                           secret_sealed = ${sql.binary(use.resealed)}
    where user_id = ${use.userId} and id = ${use.id} and secret_sealed = ${sql.binary(use.sealed)}
      and confirmed_at is not null and (last_step is null or last_step < ${use.step}) returning id`)
  return burnt !== null
}

/** Confirms a device, once; `step` is burned with it where that logs somebody in; as the system role. */
export async function confirmTotpDevice(tx: Tx, use: TotpUse & { step: number | null }): Promise<boolean> {
  const at = sql.timestamp(new Date(use.at))
  const confirmed = await tx.maybeOne(sql.type(z.object({ id: z.uuid() }))`
    update otp_devices set confirmed_at = ${at}, last_used_at = ${at}, last_step = ${use.step},
                           secret_sealed = ${sql.binary(use.resealed)}
    where user_id = ${use.userId} and id = ${use.id} and type = 'totp' and confirmed_at is null
      and secret_sealed = ${sql.binary(use.sealed)} returning id`)
  return confirmed !== null
}

const factorsRow = z.object({ totp: z.boolean(), verified: z.boolean(), recovery_codes: z.number() })

/** What a person could show: a confirmed TOTP device, a listed e-mail device, recovery codes that are left. */
export function findFactors(tx: Tx, userId: string): Promise<z.infer<typeof factorsRow>> {
  return tx.one(sql.type(factorsRow)`
    select exists (select 1 from otp_devices where user_id = ${userId} and type = 'totp' and confirmed_at is not null) as totp,
           exists (select 1 from otp_devices d where d.user_id = ${userId} and d.type = 'email' and ${listed}) as verified,
           (select count(*) from otp_recovery_codes where user_id = ${userId}) as recovery_codes`)
}

/** Whether anybody has a confirmed TOTP device; as the system role. */
export function hasConfirmedDevices(tx: Tx): Promise<boolean> {
  return tx.exists(sql.unsafe`
    select 1 from otp_devices where type = 'totp' and confirmed_at is not null limit 1`)
}
