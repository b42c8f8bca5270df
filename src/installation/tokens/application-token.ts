import { timingSafeEqual } from 'node:crypto'
import { hashOneTimeToken, makeOneTimeToken } from '../../crypto/one-time-token.ts'
import { isUuid } from '../../crypto/uuid.ts'
import { readAsSystem } from '../../database/executor/read.ts'
import { asSystem, type Databases, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { notFound, tokenExpired, tokenNotValid } from '../../errors.ts'
import { applicationUses } from '../../identity/rate-limits/limits.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { createLruCache } from '../../policy-engine/lru-cache.ts'
import { readInstalledRules } from '../manifests/store.ts'
import { findToken, insertToken, listTenantsWithSlugs, type Reads, recordUse } from './store.ts'

// The form is `bwa_<id>_<secret>`: the id finds the row, so no index over hashes is needed.
const form = /^bwa_([0-9a-f-]{36})_([\w-]{43})$/

/** A new token of an application; `token` is known only here. Times in ms since 1970. */
export interface IssuedToken {
  id: string
  application: string
  token: string
  expiresAt: number
}

/** What to issue; `slugs` are those of the tenants. Null for all. */
export interface Wanted {
  application: string
  eventTypes: readonly string[] | null
  slugs: readonly string[] | null
  validMs: number
}

/** Issues a token. 404 for an application that has no manifest, and for a slug that no tenant has. */
export async function issueToken(
  { db, clock }: { db: Pick<Databases, 'system'>; clock: () => number },
  { application, eventTypes, slugs, validMs }: Wanted,
): Promise<IssuedToken> {
  const at = clock()
  const id = timeOrderedId(at)
  const { token, hash } = makeOneTimeToken()
  const expiresAt = at + validMs
  await asSystem(db, why, async (tx) => {
    const { manifests } = await readInstalledRules(tx)
    if (!manifests.some((manifest) => manifest.application === application)) throw noManifest()
    const tenantIds = slugs && (await tenantsOf(tx, slugs))
    await insertToken(tx, { id, application, hash, reads: { eventTypes, tenantIds }, at, expiresAt })
  })
  return { id, application, token: `bwa_${id}_${token}`, expiresAt }
}

const why = 'applications belong to no tenant'

const noManifest = () => notFound('This application has no manifest. First: npm run cli -- manifest:apply')

async function tenantsOf(tx: Tx, slugs: readonly string[]): Promise<string[]> {
  const tenants = await listTenantsWithSlugs(tx, slugs)
  const unknown = slugs.filter((slug) => !tenants.some((tenant) => tenant.slug === slug))
  if (unknown.length > 0)
    throw notFound(`No tenant has the slug ${unknown.join(', ')}. Slugs: npm run cli -- tenants:list`)
  return tenants.map(({ id }) => id)
}

/** What a valid token of an application reads. */
export interface ReadingToken extends Reads {
  id: string
}

const maxRemembered = 1_000

/**
 * Makes a function that gives what a token reads; `ip` is the address of its caller. It throws 401 `token_not_valid` for one
 * that is unknown, expired or revoked. Failures are limited by address, 429 `throttled`, before the database is asked;
 * a token that was valid before in this process is not counted.
 */
export function applicationAuthenticator({ db, clock, limiters }: Pick<Deps, 'db' | 'clock' | 'limiters'>) {
  const known = createLruCache<true>(maxRemembered)
  return async (token: string, ip: string): Promise<ReadingToken> => {
    const [, id = '', secret = ''] = form.exec(token) ?? []
    if (!isUuid(id)) throw notAnApplication()
    const hash = hashOneTimeToken(secret)
    const name = `${id} ${hash.toString('base64')}`
    const uses = known.get(name) ? [] : applicationUses(ip)
    await limiters.take(uses)
    const at = clock()
    const row = await readAsSystem(db, why, (read) => findToken(read, id))
    if (!row || !timingSafeEqual(row.token_hash, hash) || row.revoked_at !== null || row.expires_at <= at) {
      known.delete(name)
      const isPast = row && timingSafeEqual(row.token_hash, hash) && row.revoked_at === null
      throw isPast ? tokenExpired(expired) : notAnApplication()
    }
    known.set(name, true, 1)
    await limiters.giveBack(uses)
    if (row.last_used_at === null || row.last_used_at <= at - 60_000)
      await asSystem(db, why, (tx) => recordUse(tx, { id, at }))
    return { id, eventTypes: row.event_types, tenantIds: row.tenant_ids }
  }
}

const expired = 'The token of the application has expired. npm run cli -- app:token issues another one.'

const notAnApplication = () =>
  tokenNotValid('This needs the token of an application. npm run cli -- app:token issues one.')
