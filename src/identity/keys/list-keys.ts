import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { publishedMs, signerFirst } from './key-ring.ts'
import { type KeyRow, type KeyUse, listKeys } from './store.ts'

/** A signing key of the installation, without its private part. Times are in ms since 1970. */
interface ListedKey {
  kid: string
  /** What it signs: the tokens of the service, or ID tokens. */
  use: KeyUse
  algorithm: string
  /** `signing`: signs and verifies. `published`: verifies, and signs from `signsFrom`. `verifying`: verifies until `verifiesUntil`. */
  state: 'signing' | 'published' | 'verifying'
  createdAt: number
  signsFrom: number
  verifiesUntil: number | null
}

/** The signing keys in Postgres: those of tokens before those of ID tokens, each newest first. */
export async function listSigningKeys({
  db,
  clock,
}: {
  db: Pick<Deps['db'], 'system'>
  clock: () => number
}): Promise<ListedKey[]> {
  const now = clock()
  const [tokens, idTokens] = await asSystem(db, 'keys belong to no tenant', (tx) =>
    Promise.all([listKeys(tx, 'tokens', now), listKeys(tx, 'id_tokens', now)]),
  )
  return [...listed('tokens', tokens, now), ...listed('id_tokens', idTokens, now)]
}

function listed(use: KeyUse, rows: readonly KeyRow[], now: number): ListedKey[] {
  const [signer] = signerFirst(rows, now)
  return rows.map((row) => ({
    kid: row.kid,
    use,
    algorithm: row.algorithm,
    state: row === signer ? 'signing' : row.created_at > now - publishedMs ? 'published' : 'verifying',
    createdAt: row.created_at,
    signsFrom: row.created_at + publishedMs,
    verifiesUntil: row.retires_at,
  }))
}
