import { z } from 'zod'
import { uniqueViolation } from '../../database/executor/database-errors.ts'
import type { Read } from '../../database/executor/read.ts'
import { idRow } from '../../database/executor/row-schemas.ts'
import { sql, sqlState, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { lock, willChange } from '../../database/locks.ts'
import { isProven } from '../../database/proven-address.ts'
import { unavailable } from '../../errors.ts'
import { makeEmailDevice } from '../otp/store.ts'

const changedRow = z.object({ address_since: z.number(), first_proof_at: z.number().nullable() })

// Where codes and notices about factors are sent, and how an account gets an address back:
// docs/explanation/second-factors.md. Times are in ms since 1970.

const mailboxRow = z.object({
  address: z.string(),
  /** Whether a person has ever proved that they read it. */
  proven: z.boolean(),
  /** Codes sent there count if this is null or past. */
  codes_count_from: z.number().nullable(),
})

/** The mailbox to which a person's second-factor codes go. */
export type Mailbox = z.infer<typeof mailboxRow>

/** A person's address, or for a day after a change the proven address before it. */
export async function findMailbox(tx: Read, userId: string, at: number): Promise<Mailbox> {
  const [found] = await listMailboxes(tx, [userId], at)
  if (!found) throw new Error('The person whose mailbox is needed does not exist')
  return found
}

/** The same of several people. People who do not exist, or whom the role cannot see, are left out. */
export function listMailboxes(tx: Read, userIds: readonly string[], at: number): Promise<readonly Mailbox[]> {
  return tx.any(sql.type(mailboxRow)`
    select case when codes_until > ${instant(at)} then codes_email else email end as address,
           ${isProven} or coalesce(codes_until > ${instant(at)}, false) as proven,
           mailed_codes_count_from as codes_count_from
    from users u where u.id = any(${sql.array([...userIds], 'uuid')})`)
}

/** A change of address: the address before it, and when that was verified. */
interface AddressChange {
  id: string
  from: string
  fromVerifiedAt: number | null
  at: number
  /** Until when codes go to a proven address before it. */
  codesUntil: number
}

/**
 * Records where codes go for now, which a further change does not alter, and which address the account gets back if the
 * new one is rejected. Returns the time of the change: `at`, or just after the previous change, so that two changes stay
 * in order although the clocks of two processes differ; and the first proof of the account, which a first proof of the new
 * address will replace. As the system role, in the transaction of the change.
 */
export function recordAddressChange(
  tx: Tx,
  { id, from, fromVerifiedAt, at, codesUntil }: AddressChange,
): Promise<z.infer<typeof changedRow>> {
  const verifiedAt = instant(fromVerifiedAt)
  const redirected = sql.fragment`coalesce(codes_until > ${instant(at)}, false)`
  const proven = fromVerifiedAt !== null
  willChange(tx, id)
  if (fromVerifiedAt !== null) rememberFormerAddress(tx, { id, email: from, provenAt: fromVerifiedAt })
  return tx.one(sql.type(changedRow)`
    update users set address_since = greatest(${instant(at)}, (address_since at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC'),
      previous_email = case when ${proven} then ${from} else coalesce(previous_email, ${from}) end,
      previous_verified_at = coalesce(${verifiedAt}::timestamptz, previous_verified_at),
      codes_email = case when ${redirected} then codes_email when ${proven} then ${from}::text end,
      codes_until = case when ${redirected} or ${proven} then ${instant(codesUntil)}::timestamptz end
    where id = ${id} returning address_since, first_proof_at`)
}

const originRow = z.object({ how: z.enum(['made', 'changed']), at: z.number() })

/** Whether an account was created with its current address or changed to it, and when (ms since 1970). */
export type AddressOrigin = z.infer<typeof originRow>

export function findAddressOrigin(tx: Tx, userId: string): Promise<AddressOrigin> {
  return tx.one(sql.type(originRow)`
    select case when address_since is null then 'made' else 'changed' end as how,
           coalesce(address_since, date_joined) as at
    from users where id = ${userId}`)
}

const unprovenRow = z.object({
  previous_email: z.string().nullable(),
  previous_verified_at: z.number().nullable(),
  /** Whether the link mailed to the earlier address, which undoes the change, is young enough to work. */
  can_undo: z.boolean(),
})

/** The earlier address of an account that never proved `email`; null if it has another address by now, or proved this one. */
export function findUnproven(
  tx: Tx,
  { id, email, at }: { id: string; email: string; at: number },
): Promise<z.infer<typeof unprovenRow> | null> {
  return tx.maybeOne(sql.type(unprovenRow)`
    select previous_email, previous_verified_at,
           -- Not by address_since: each further change renews that.
           exists (select 1 from link_tokens l
                   where l.user_id = u.id and l.purpose = 'email_undo' and l.email = u.previous_email
                     and l.expires_at > ${instant(at)}) as can_undo
    from users u where id = ${id} and email = ${email} and not ${isProven}`)
}

/** Times are in ms since 1970. */
interface RestoredAddress {
  id: string
  email: string
  verifiedAt: number | null
  provenAt?: number | null
  at: number
}

const restoredRow = z.object({
  first_name: z.string(),
  replaced: z.string(),
  replaced_proven: z.boolean(),
  changed: z.boolean(),
  verified_now: z.boolean(),
})

/**
 * Gives a person an earlier address back, verified at `verifiedAt` or unverified, and deletes what its change recorded,
 * except that an earlier address was verified (at `provenAt`); returns which address it replaced, and whether that
 * was proven. Null if another account has it by now, 503 `overloaded` if one took it at the same
 * moment. As the system role.
 */
export async function restoreAddress(
  tx: Tx,
  { id, email, verifiedAt, provenAt = null, at }: RestoredAddress,
): Promise<z.infer<typeof restoredRow> | null> {
  try {
    const restored = await tx.maybeOne(sql.type(restoredRow)`
    with before as (select id, email, email_verified_at from users where id = ${id} ${lock(tx, id, 'update')})
    update users u set email = ${email}, email_verified_at = ${instant(verifiedAt)},
      address_since = null, previous_email = null,
      previous_verified_at = ${instant(provenAt)}::timestamptz,
      codes_email = null, codes_until = null, version = u.version + 1, updated_at = ${instant(at)}
    from before
    where u.id = before.id and not exists (select 1 from users o where o.email = ${email} and o.id <> ${id})
    returning u.first_name, before.email as replaced,
      before.email_verified_at is not null as replaced_proven, before.email <> ${email} as changed,
      before.email_verified_at is null and u.email_verified_at is not null as verified_now`)
    if (restored?.verified_now && verifiedAt !== null) makeEmailDevice(tx, id, verifiedAt)
    return restored
  } catch (error) {
    throw sqlState(error) === uniqueViolation ? takenMeanwhile() : error
  }
}

const takenMeanwhile = () =>
  unavailable('overloaded', 'Another account took the address at the same moment. Try again.', 1)

/**
 * Makes codes by e-mail count only from `until`, for a person who has a passkey, app or recovery codes that count: the person who
 * reset the password reads the mailbox, so a code sent there proves nothing more. As the system role.
 */
export async function holdBackMailedCodes(
  tx: Tx,
  { id, until, at }: { id: string; until: number; at: number },
): Promise<void> {
  willChange(tx, id)
  tx.later(sql.unsafe`
    update users u set mailed_codes_count_from = ${instant(until)}
    where u.id = ${id} and exists (
      select 1 from otp_devices d
      where d.user_id = u.id and d.confirmed_at is not null and (d.counts_from is null or d.counts_from <= ${instant(at)})
        and (d.type = 'totp' or d.type = 'static' and exists (
              select 1 from otp_recovery_codes c where c.user_id = d.user_id and c.device_id = d.id)))
      or u.id = ${id} and exists (
      select 1 from passkeys p
      where p.user_id = u.id and (p.counts_from is null or p.counts_from <= ${instant(at)}))`)
}

/** Deletes past addresses that no longer get codes and that the account can no longer get back. As the system role. */
export async function forgetPastAddresses(tx: Tx, at: number): Promise<void> {
  tx.later(sql.unsafe`
    update users set
      codes_email = case when codes_until > ${instant(at)} then codes_email end,
      codes_until = case when codes_until > ${instant(at)} then codes_until end,
      previous_email = case when email_verified_at is null then previous_email end,
      previous_verified_at = case when email_verified_at is null then previous_verified_at end
    where (previous_email is not null or codes_until is not null)
      and (codes_until <= ${instant(at)} or previous_email is not null and email_verified_at is not null)`)
}

/** Deletes a person's past addresses, so that codes go to the current one at once. As the system role. */
export async function dropPastAddresses(tx: Tx, id: string): Promise<void> {
  willChange(tx, id)
  tx.later(sql.unsafe`
    update users set codes_email = null, codes_until = null, previous_email = null, previous_verified_at = null
    where id = ${id}`)
}

/** Makes codes by e-mail count again at once. As the system role. */
export async function countMailedCodes(tx: Tx, id: string): Promise<void> {
  willChange(tx, id)
  tx.later(sql.unsafe`update users set mailed_codes_count_from = null where id = ${id}`)
}

// An address is *proven* by an account if a reader of its mailbox said that it is theirs: by a link or a code from a mail
// to it, or by an invitation. Accounts can claim addresses that are not theirs. So decisions, notices, mails to strangers
// and erasures use an address only if it is proven: `isProven` in statements, `emailVerified` of the caller, and for erasures
// `listProvenAddresses`. Times are in ms since 1970.

const dayMs = 86_400_000
const emailRow = z.object({ email: z.string() })

/**
 * Marks an address as proven, for a person who is logged in, who registers, or who confirms that it is theirs; false if it
 * is no longer the person's, or was proven already.
 */
export async function markProven(
  tx: Tx,
  { id, email, at }: { id: string; email: string; at: number },
): Promise<boolean> {
  willChange(tx, id)
  const marked = await tx.maybeOne(sql.type(idRow)`
    update users u set email_verified_at = ${instant(at)}, version = version + 1
    where id = ${id} and email = ${email} and not ${isProven} returning id`)
  if (marked) makeEmailDevice(tx, id, at)
  return marked !== null
}

interface MailboxProof {
  id: string
  /** The address to which the link was mailed. */
  email: string
  /** Null keeps the password. */
  passwordHash: string | null
  /** Replaces the password only if the address was not proven yet. */
  keepsPassword: boolean
  at: number
}

const proofRow = z.object({ is_first: z.boolean() })

/**
 * Marks an address as proven by its mailbox alone, and replaces the password; `is_first` if it was not proven yet. The next
 * login can make the person a tenant, also if a thief used up the one of the day; that holds once a day. Null if the person has another address by
 * now or is inactive. As the system role.
 */
export async function markProvenByMailbox(
  tx: Tx,
  { id, email, passwordHash, keepsPassword, at }: MailboxProof,
): Promise<z.infer<typeof proofRow> | null> {
  const replaces =
    passwordHash === null ? sql.fragment`false` : sql.fragment`(before.is_first or not ${keepsPassword})`
  // Otherwise a person could make as many tenants as they get mails.
  const freesTenant = sql.fragment`coalesce(u.own_tenant_freed_at <= ${instant(at - dayMs)}, true)`
  const proof = await tx.maybeOne(sql.type(proofRow)`
    with before as (
      select u.id, not ${isProven} as is_first from users u
      where u.id = ${id} and u.email = ${email} and u.is_active ${lock(tx, id, 'update')})
    update users u set email_verified_at = coalesce(u.email_verified_at, ${instant(at)}), version = u.version + 1,
      password_hash = case when ${replaces} then ${passwordHash} else u.password_hash end,
      password_set_at = case when ${replaces} then ${instant(at)}::timestamptz else u.password_set_at end,
      own_tenant_made_at = case when ${freesTenant} then null else u.own_tenant_made_at end,
      own_tenant_freed_at = case when ${freesTenant} then ${instant(at)}::timestamptz else u.own_tenant_freed_at end,
      first_proof_at = case when before.is_first then ${instant(at)}::timestamptz else u.first_proof_at end
    from before where u.id = before.id returning before.is_first`)
  if (proof?.is_first) makeEmailDevice(tx, id, at)
  return proof
}

/** Remembers a proven address that a person leaves, so that their erasure reaches it. As the system role. */
function rememberFormerAddress(
  tx: Tx,
  { id, email, provenAt }: { id: string; email: string; provenAt: number },
): void {
  tx.later(sql.unsafe`
    insert into former_addresses (email, user_id, proven_at) values (${email}, ${id}, ${instant(provenAt)})
    on conflict (email) do update set user_id = excluded.user_id, proven_at = excluded.proven_at`)
}

interface ForgottenProofs {
  id: string
  since: number
  /** The first proof of the account at `since`. */
  firstProofAt: number | null
  /** Replaces a password that was chosen since. */
  passwordHash: string
}

/**
 * Forgets what was proved since `since`, by a person whose account is given back to an older address: the first proof is
 * again the one before. A password that was chosen since goes, because the reader of the newer mailbox can know it. As the
 * system role.
 */
export function forgetProofsSince(tx: Tx, { id, since, firstProofAt, passwordHash }: ForgottenProofs): void {
  willChange(tx, id)
  tx.later(sql.unsafe`delete from former_addresses where user_id = ${id} and proven_at >= ${instant(since)}`)
  tx.later(
    sql.unsafe`
      update users set
        first_proof_at = case when first_proof_at >= ${instant(since)}
                              then ${instant(firstProofAt)} else first_proof_at end,
        password_hash = case when password_set_at >= ${instant(since)} then ${passwordHash} else password_hash end
      where id = ${id}`,
  )
}

/** The addresses that a person has proved, except those that another person has proved since. As the system role. */
export function listProvenAddresses(tx: Tx, id: string): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(emailRow)`
    select u.email from users u where u.id = ${id} and ${isProven}
    union
    select f.email from former_addresses f
    where f.user_id = ${id} and not exists (
      select 1 from users u where u.email = f.email and u.id <> ${id} and ${isProven})`)
}
