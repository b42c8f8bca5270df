import { z } from 'zod'
import { sql, type Tx } from '../../platform/db/transaction.ts'

export interface NewLinkToken {
  id: string
  purpose: 'email_verification' | 'password_reset'
  userId: string
  tenantId: string
  email: string
  tokenHash: Buffer
  at: number
  expiresAt: number
}

/** Keeps the hash of a one-time token; the scope must be its person. */
export async function insertLinkToken(tx: Tx, token: NewLinkToken): Promise<void> {
  await tx.query(sql.unsafe`
    insert into link_tokens (id, purpose, user_id, tenant_id, email, token_hash, created_at, expires_at)
    values (${token.id}, ${token.purpose}, ${token.userId}, ${token.tenantId}, ${token.email}, ${sql.binary(token.tokenHash)},
            ${sql.timestamp(new Date(token.at))}, ${sql.timestamp(new Date(token.expiresAt))})`)
}

const consumedRow = z.object({ user_id: z.uuid(), tenant_id: z.uuid(), email: z.string() })

/**
 * Uses a token up, if it is of this purpose, unused and not expired; of any number of presenters one gets the row.
 * All other tokens of the person for this purpose die with it. As the system role.
 */
export async function consumeLinkToken(
  tx: Tx,
  token: { hash: Buffer; purpose: NewLinkToken['purpose']; at: number },
): Promise<z.infer<typeof consumedRow> | null> {
  const at = sql.timestamp(new Date(token.at))
  const consumed = await tx.maybeOne(sql.type(consumedRow)`
    update link_tokens set used_at = ${at}
    where token_hash = ${sql.binary(token.hash)} and purpose = ${token.purpose} and used_at is null and expires_at > ${at}
    returning user_id, tenant_id, email`)
  if (consumed)
    await tx.query(sql.unsafe`
      update link_tokens set used_at = ${at}
      where user_id = ${consumed.user_id} and purpose = ${token.purpose} and used_at is null`)
  return consumed
}

/** Whether a token that cannot be used is merely too old; as the system role. */
export async function isExpiredLinkToken(
  tx: Tx,
  token: { hash: Buffer; purpose: NewLinkToken['purpose']; at: number },
): Promise<boolean> {
  return tx.exists(sql.unsafe`
    select 1 from link_tokens
    where token_hash = ${sql.binary(token.hash)} and purpose = ${token.purpose} and used_at is null
      and expires_at <= ${sql.timestamp(new Date(token.at))}`)
}

const liveRow = z.object({
  user_id: z.uuid(),
  email: z.string(),
  first_name: z.string(),
  last_name: z.string(),
})

/** Whose token this is, while it can be used and its person can; uses nothing up. As the system role. */
export function findLinkToken(
  tx: Tx,
  token: { hash: Buffer; purpose: NewLinkToken['purpose']; at: number },
): Promise<z.infer<typeof liveRow> | null> {
  return tx.maybeOne(sql.type(liveRow)`
    select t.user_id, t.email, u.first_name, u.last_name
    from link_tokens t join users u on u.id = t.user_id and u.email = t.email and u.is_active
    where t.token_hash = ${sql.binary(token.hash)} and t.purpose = ${token.purpose} and t.used_at is null
      and t.expires_at > ${sql.timestamp(new Date(token.at))}`)
}

/** Ends a person's tokens for resetting the password; as the system role. */
export async function endResetTokens(tx: Tx, userId: string, at: number): Promise<void> {
  await tx.query(sql.unsafe`
    update link_tokens set used_at = ${sql.timestamp(new Date(at))}
    where user_id = ${userId} and purpose = 'password_reset' and used_at is null`)
}

/** Ends every token that was sent to another address of a person than this one; as the system role. */
export async function endTokensSentElsewhere(
  tx: Tx,
  person: { id: string; email: string; at: number },
): Promise<void> {
  await tx.query(sql.unsafe`
    update link_tokens set used_at = ${sql.timestamp(new Date(person.at))}
    where user_id = ${person.id} and email <> ${person.email} and used_at is null`)
}
