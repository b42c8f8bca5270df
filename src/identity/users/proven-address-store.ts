import { z } from 'zod'
import { idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { lock, willChange } from '../../database/locks.ts'
import { isProven } from '../../database/proven-address.ts'
import { makeEmailDevice } from '../otp/email-device-store.ts'

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
export function rememberFormerAddress(
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
