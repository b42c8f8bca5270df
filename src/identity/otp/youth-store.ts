import { z } from 'zod'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import { deviceTypes } from './channels.ts'

// What makes a factor young, and what proves it: docs/explanation/second-factors.md. Times are in ms since 1970.

const moment = (ms: number) => sql.timestamp(new Date(ms))
const deviceRow = z.object({ id: z.uuid(), type: z.enum(deviceTypes) })

/**
 * Whether codes by e-mail could serve a person: their address is proven and was the account's at `since` already, or
 * codes still go to the proven address before it. Never for an account that is younger than that.
 */
export function couldMail(
  tx: Tx,
  { userId, since, at }: { userId: string; since: number; at: number },
): Promise<boolean> {
  return tx.oneFirst(sql.type(z.object({ could: z.boolean() }))`
    select date_joined <= ${moment(since)}
       and (coalesce(codes_until > ${moment(at)}, false)
            or email_verified_at is not null and coalesce(address_since, date_joined) <= ${moment(since)}) as could
    from users where id = ${userId}`)
}

/** Notes the sign-in in which a young device was shown. As the system role. */
export async function noteShown(
  tx: Tx,
  shown: { userId: string; deviceId: string; signInId: string },
): Promise<void> {
  await tx.query(sql.unsafe`
    update otp_devices set shown_in = ${shown.signInId}
    where user_id = ${shown.userId} and id = ${shown.deviceId}`)
}

/** What was shown in a waiting sign-in was shown in the session that it became. As the system role. */
export async function moveShown(
  tx: Tx,
  shown: { userId: string; pendingId: string; sessionId: string },
): Promise<void> {
  await tx.query(sql.unsafe`
    update otp_devices set shown_in = ${shown.sessionId}
    where user_id = ${shown.userId} and shown_in = ${shown.pendingId}`)
}

/**
 * Makes those young devices count that were enrolled or shown in this sign-in, or in the session that waits in it to
 * enter a tenant; gives their ids. As the system role.
 */
export function proveDevices(
  tx: Tx,
  { userId, signInId, at }: { userId: string; signInId: string; at: number },
): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(z.object({ id: z.uuid() }))`
    update otp_devices set counts_from = null
    where user_id = ${userId} and counts_from > ${moment(at)} and confirmed_at is not null
      and shown_in in (${signInId}, (select p.session_id from pending_sessions p where p.id = ${signInId}))
    returning id`)
}

/** Deletes a person's young devices with their codes; gives them. As the system role. */
export function deleteYoungDevices(
  tx: Tx,
  { userId, at }: { userId: string; at: number },
): Promise<readonly z.infer<typeof deviceRow>[]> {
  return tx.any(sql.type(deviceRow)`
    delete from otp_devices where user_id = ${userId} and counts_from > ${moment(at)} returning id, type`)
}

/** Deletes one device with its codes, unless it is the e-mail device; gives it, or null. As the system role. */
export function deleteOneDevice(
  tx: Tx,
  { userId, id }: { userId: string; id: string },
): Promise<z.infer<typeof deviceRow> | null> {
  return tx.maybeOne(sql.type(deviceRow)`
    delete from otp_devices where user_id = ${userId} and id = ${id} and type <> 'email' returning id, type`)
}

/** Deletes apps and recovery codes of a person, confirmed or not; gives those that verified something. As the system role. */
export async function deleteAllDevices(
  tx: Tx,
  userId: string,
): Promise<readonly z.infer<typeof deviceRow>[]> {
  const deleted = await tx.any(sql.type(deviceRow.extend({ confirmed: z.boolean() }))`
    delete from otp_devices where user_id = ${userId} and type <> 'email'
    returning id, type, confirmed_at is not null as confirmed`)
  return deleted.filter(({ confirmed }) => confirmed)
}
