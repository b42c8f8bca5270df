import { z } from 'zod'
import { idRow } from '../../platform/db/row-schemas.ts'
import { sql, type Tx } from '../../platform/db/transaction.ts'

const tokenRow = z.object({
  id: z.uuid(),
  application: z.string(),
  created_at: z.number(),
  expires_at: z.number(),
  revoked_at: z.number().nullable(),
})

/** A token of an application, without its hash. Times in ms since 1970. */
export type TokenRow = z.infer<typeof tokenRow>

const columns = sql.fragment`id, application, created_at, expires_at, revoked_at`

/** All tokens of applications, newest first. */
export function listTokens(tx: Tx): Promise<readonly TokenRow[]> {
  return tx.any(sql.type(tokenRow)`
    select ${columns} from application_tokens order by created_at desc, id desc limit 1000`)
}

const hashedRow = tokenRow.extend({ token_hash: z.instanceof(Buffer) })

/** A token by its id, or null. */
export function findToken(tx: Pick<Tx, 'maybeOne'>, id: string) {
  return tx.maybeOne(sql.type(hashedRow)`
    select ${columns}, token_hash from application_tokens where id = ${id}`)
}

/** Inserts a token. Tokens that expired more than 30 days ago go. */
export async function insertToken(
  tx: Tx,
  token: { id: string; application: string; hash: Buffer; at: number; expiresAt: number },
): Promise<void> {
  tx.later(sql.unsafe`
    delete from application_tokens where expires_at < ${sql.timestamp(new Date(token.at - 30 * 86_400_000))}`)
  tx.later(sql.unsafe`
    insert into application_tokens (id, application, token_hash, created_at, expires_at)
    values (${token.id}, ${token.application}, ${sql.binary(token.hash)}, ${sql.timestamp(new Date(token.at))},
            ${sql.timestamp(new Date(token.expiresAt))})`)
}

/** Revokes a token; false if there is none with this id that is not revoked. */
export async function revokeToken(tx: Tx, { id, at }: { id: string; at: number }): Promise<boolean> {
  const revoked = await tx.maybeOne(sql.type(idRow)`
    update application_tokens set revoked_at = ${sql.timestamp(new Date(at))}
    where id = ${id} and revoked_at is null returning id`)
  return revoked !== null
}
