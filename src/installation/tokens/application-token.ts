import { timingSafeEqual } from 'node:crypto'
import type { Deps } from '../../deps.ts'
import { hashOneTimeToken, makeOneTimeToken } from '../../platform/crypto/one-time-token.ts'
import { readAsSystem } from '../../platform/db/read.ts'
import { asSystem, type Databases } from '../../platform/db/transaction.ts'
import { tokenNotValid } from '../../platform/errors.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { isUuid } from '../../platform/uuid.ts'
import { readInstalledRules } from '../manifests/store.ts'
import { findToken, insertToken } from './store.ts'

// The form is `bwa_<id>_<secret>`: the id finds the row, so no index over hashes is needed.
const form = /^bwa_([0-9a-f-]{36})_([\w-]{43})$/

/** A new token of an application; `token` is known only here. Times in ms since 1970. */
export interface IssuedToken {
  id: string
  application: string
  token: string
  expiresAt: number
}

/** Issues a token for an application that has a manifest; null for any other. */
export async function issueToken(
  { db, clock }: { db: Pick<Databases, 'system'>; clock: () => number },
  { application, validMs }: { application: string; validMs: number },
): Promise<IssuedToken | null> {
  const at = clock()
  const id = timeOrderedId(at)
  const { token, hash } = makeOneTimeToken()
  const expiresAt = at + validMs
  const isIssued = await asSystem(db, 'applications belong to no tenant', async (tx) => {
    const { manifests } = await readInstalledRules(tx)
    if (!manifests.some((manifest) => manifest.application === application)) return false
    await insertToken(tx, { id, application, hash, at, expiresAt })
    return true
  })
  return isIssued ? { id, application, token: `bwa_${id}_${token}`, expiresAt } : null
}

/** The application of a token. Throws 401 `token_not_valid` for one that is unknown, expired or revoked. */
export async function authenticateApplication(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  token: string,
): Promise<{ tokenId: string; application: string }> {
  const [, id = '', secret = ''] = form.exec(token) ?? []
  if (!isUuid(id)) throw notAnApplication()
  const row = await readAsSystem(db, 'applications belong to no tenant', (read) => findToken(read, id))
  if (!row || !timingSafeEqual(row.token_hash, hashOneTimeToken(secret))) throw notAnApplication()
  if (row.revoked_at !== null || row.expires_at <= clock()) throw notAnApplication()
  return { tokenId: id, application: row.application }
}

const notAnApplication = () =>
  tokenNotValid('This needs the token of an application. npm run cli -- app:token issues one.')
