import type { JWK } from 'jose'
import { z } from 'zod'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'

/** What a key signs: the tokens of this service, or ID tokens (OpenID Connect Core §2). */
export type KeyUse = 'tokens' | 'id_tokens'

// Two tables: a process of an earlier release signs with the newest key of the one that it knows.
const tables = { tokens: sql.fragment`signing_keys`, id_tokens: sql.fragment`id_token_keys` }

const kidRow = z.object({ kid: z.string() })

const keyRow = z.object({
  kid: z.string(),
  algorithm: z.enum(['ES256', 'EdDSA', 'RS256']),
  public_jwk: z.custom<JWK>((value) => typeof value === 'object' && value !== null),
  private_jwk_sealed: z.instanceof(Buffer),
  created_at: z.number(),
  retires_at: z.number().nullable(),
})

export type KeyRow = z.infer<typeof keyRow>
export type NewKey = Omit<KeyRow, 'retires_at'>

/** Keys whose tokens can still be valid, newest first; of keys created at the same time the unretired first. As the system role. */
export function listKeys(tx: Tx, use: KeyUse, now: number): Promise<readonly KeyRow[]> {
  return tx.any(sql.type(keyRow)`
    select kid, algorithm, public_jwk, private_jwk_sealed, created_at, retires_at from ${tables[use]}
    where retires_at is null or retires_at > ${instant(now)} order by created_at desc, retires_at desc nulls first, kid`)
}

/** Inserts a key. As the system role. */
export async function insertKey(tx: Tx, use: KeyUse, key: NewKey): Promise<void> {
  tx.later(sql.unsafe`
    insert into ${tables[use]} (kid, algorithm, public_jwk, private_jwk_sealed, created_at)
    values (${key.kid}, ${key.algorithm}, ${sql.jsonb(key.public_jwk as never)}, ${sql.binary(key.private_jwk_sealed)},
            ${instant(key.created_at)})`)
}

/** Sets when the current keys stop verifying (ms since 1970). As the system role. */
export async function retireKeys(tx: Tx, use: KeyUse, at: number): Promise<void> {
  tx.later(sql.unsafe`
    update ${tables[use]} set retires_at = ${instant(at)} where retires_at is null`)
}

/** Deletes a key; false if no key has the kid. As the system role. */
export async function deleteKey(tx: Tx, use: KeyUse, kid: string): Promise<boolean> {
  const gone = await tx.maybeOne(sql.type(kidRow)`
    delete from ${tables[use]} where kid = ${kid} returning kid`)
  return gone !== null
}

/** Deletes the keys that no longer verify. As the system role. */
export async function deleteRetiredKeys(tx: Tx, use: KeyUse, now: number): Promise<void> {
  tx.later(sql.unsafe`
    delete from ${tables[use]} where retires_at <= ${instant(now)}`)
}

/** Lets one process at a time create a key; the lock ends with the transaction. */
export async function lockKeys(tx: Tx): Promise<void> {
  tx.later(sql.unsafe`select pg_advisory_xact_lock(hashtext('bailiwick signing keys'))`)
}
