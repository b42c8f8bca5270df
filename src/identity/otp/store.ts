import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { isProven } from '../../database/proven-address.ts'
import { defineList, type ListPage } from '../../lists/list.ts'
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
