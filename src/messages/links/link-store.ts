import { z } from 'zod'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import type { LinkPurpose } from './mailed-links.ts'

/** A token to store. Times are in ms since 1970. */
export interface NewLinkToken {
  id: string
  purpose: LinkPurpose
  userId: string
  tenantId: string
  email: string
  targetId: string | null
  tokenHash: Buffer
  firstProofAt: number | null
  at: number
  expiresAt: number
}

/** Stores the hash of a one-time token. As the user or the system role. */
export async function insertLinkToken(tx: Tx, token: NewLinkToken): Promise<void> {
  tx.later(sql.unsafe`
    insert into link_tokens (id, purpose, user_id, tenant_id, email, target_id, token_hash, first_proof_at, created_at, expires_at)
    values (${token.id}, ${token.purpose}, ${token.userId}, ${token.tenantId}, ${token.email}, ${token.targetId},
            ${sql.binary(token.tokenHash)}, ${instant(token.firstProofAt)}, ${instant(token.at)}, ${instant(token.expiresAt)})`)
}

const unusedRow = z.object({
  id: z.uuid(),
  user_id: z.uuid(),
  tenant_id: z.uuid(),
  target_id: z.uuid().nullable(),
  email: z.string(),
  first_proof_at: z.number().nullable(),
  created_at: z.number(),
  expired: z.boolean(),
})

/** The unused token of a purpose with this hash, expired or not; null when there is none. As the system role. */
export function findUnusedToken(
  tx: Tx,
  token: { hash: Buffer; purpose: LinkPurpose; at: number },
): Promise<z.infer<typeof unusedRow> | null> {
  return tx.maybeOne(sql.type(unusedRow)`
    select id, user_id, tenant_id, target_id, email, first_proof_at, created_at, expires_at <= ${instant(token.at)} as expired from link_tokens
    where token_hash = ${sql.binary(token.hash)} and purpose = ${token.purpose} and used_at is null`)
}

/** The number of tokens of a purpose that were made for a user and address since `since`. As the system role. */
export function countTokensSince(
  tx: Tx,
  tokens: { userId: string; purpose: LinkPurpose; email: string; since: number },
): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from link_tokens
    where user_id = ${tokens.userId} and purpose = ${tokens.purpose} and email = ${tokens.email}
      and created_at > ${instant(tokens.since)}`)
}

/** Marks a valid token as used. Of concurrent calls one gets true. As the user or the system role. */
export async function markTokenUsed(tx: Tx, id: string, at: number): Promise<boolean> {
  const used = await tx.maybeOne(sql.type(idRow)`
    update link_tokens set used_at = ${instant(at)}
    where id = ${id} and used_at is null and expires_at > ${instant(at)} returning id`)
  return used !== null
}

/** Ends a user's unused tokens of a purpose and target (null: no target). As the user or the system role. */
export async function endTokens(
  tx: Tx,
  tokens: { userId: string; purpose: LinkPurpose; targetId: string | null; at: number },
): Promise<void> {
  tx.later(sql.unsafe`
    update link_tokens set used_at = ${instant(tokens.at)}
    where user_id = ${tokens.userId} and purpose = ${tokens.purpose}
      and target_id is not distinct from ${tokens.targetId}::uuid and used_at is null`)
}

/** Ends a user's unused tokens of some purposes, whatever their target. As the system role. */
export async function endTokensOf(
  tx: Tx,
  tokens: { userId: string; purposes: readonly LinkPurpose[]; at: number },
): Promise<void> {
  await tx.query(sql.unsafe`
    update link_tokens set used_at = ${instant(tokens.at)}
    where user_id = ${tokens.userId} and purpose = any(${sql.array(tokens.purposes, 'text')}) and used_at is null`)
}

/** Ends a user's unused tokens of a purpose, except the newest `kept` that are valid at `at`. As the system role. */
export async function endOldTokens(
  tx: Tx,
  { userId, purpose, kept, at }: { userId: string; purpose: LinkPurpose; kept: number; at: number },
): Promise<void> {
  tx.later(sql.unsafe`
    update link_tokens set used_at = ${instant(at)}
    where id in (select id from link_tokens
                 where user_id = ${userId} and purpose = ${purpose} and used_at is null and expires_at > ${instant(at)}
                 order by created_at desc, id desc offset ${kept})`)
}

/** Links that open an account: they end with its sessions. */
export const accountLinks: readonly LinkPurpose[] = ['password_reset', 'magic_link']

/** Ends a user's unused tokens of the same purpose that were made after this one. As the system role. */
export async function endLaterTokens(
  tx: Tx,
  token: { id: string; userId: string; purpose: LinkPurpose; at: number },
): Promise<void> {
  tx.later(sql.unsafe`
    update link_tokens set used_at = ${instant(token.at)}
    where user_id = ${token.userId} and purpose = ${token.purpose} and used_at is null
      and created_at >= (select created_at from link_tokens where id = ${token.id})`)
}

/** Undo links must still work for a reader of the old address after the address was changed. */
const survivesAddressChange: readonly LinkPurpose[] = ['email_undo', 'factor_undo', 'identity_undo']

/** Ends a user's tokens that were sent to other addresses, except those of undo links. As the system role. */
export async function endTokensSentElsewhere(
  tx: Tx,
  person: { id: string; email: string; at: number },
): Promise<void> {
  tx.later(sql.unsafe`
    update link_tokens set used_at = ${instant(person.at)}
    where user_id = ${person.id} and email <> ${person.email} and used_at is null
      and purpose <> all(${sql.array(survivesAddressChange, 'text')})`)
}

/** Ends every unused link of a user. As the system role. */
export async function endAllTokens(tx: Tx, userId: string, at: number): Promise<void> {
  tx.later(sql.unsafe`
    update link_tokens set used_at = ${instant(at)} where user_id = ${userId} and used_at is null`)
}

/** Voids up to `limit` unused links of the installation; gives how many. As the system role. */
export async function voidSomeLinks(tx: Tx, at: number, limit: number): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    update link_tokens set used_at = ${instant(at)}
    where used_at is null and id = any(array(select id from link_tokens where used_at is null limit ${limit}))`)
  return rowCount
}
