import { timingSafeEqual } from 'node:crypto'
import type { Logger } from 'pino'
import { readAsSystem } from '../../database/executor/read.ts'
import { asSystem, type Databases } from '../../database/executor/transaction.ts'
import { outsideSpans } from '../../observe/tracing/span.ts'
import { createLruCache } from '../../policy-engine/lru-cache.ts'
import type { ApiKeys } from '../../request/ports.ts'
import { isKeyLike, readKey } from './key-text.ts'
import { findKeyById, type KeyUse, recordUses } from './store.ts'

type Claims = NonNullable<Awaited<ReturnType<ApiKeys['claimsOf']>>>

const maxRemembered = 10_000
const minute = 60_000
const writesEveryMs = 5_000

/** The API keys of the installation, as each process knows them. */
export interface OpenApiKeys extends ApiKeys {
  /** Notes that a key was used at `at`, when it was last known to be used at `lastUsedAt` (both in ms since 1970). */
  noteUse(use: KeyUse, lastUsedAt: number | null): void
  /** Writes the uses so far. Never rejects: what cannot be written is kept for the next time. */
  flush(): Promise<void>
}

/**
 * Recognises keys, and collects their uses. The tenant, the holder and the maker of a key never change, so a process remembers them
 * by the hash of the key, after one statement at its first use. Whether it still works is read in each request, with
 * what the request reads anyway (load-auth-context.ts). Uses are written together, at most one a minute for each key.
 */
export function openApiKeys(db: Pick<Databases, 'system'>, log: Logger): OpenApiKeys {
  const known = createLruCache<Claims>(maxRemembered)
  let waiting = new Map<string, KeyUse>()
  let timer: NodeJS.Timeout | undefined

  const flush = async () => {
    clearTimeout(timer)
    timer = undefined
    if (waiting.size === 0) return
    const uses = [...waiting.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
    waiting = new Map()
    try {
      await asSystem(db, 'uses of keys of many tenants share a transaction', (tx) => recordUses(tx, uses))
    } catch (error) {
      for (const use of uses) if (!waiting.has(use.id)) waiting.set(use.id, use)
      log.warn({ err: error, keys: uses.length }, 'uses of API keys could not be stored yet')
    }
  }
  return {
    isKeyLike,
    async claimsOf(text) {
      const read = readKey(text)
      if (!read) return null
      const digest = read.hash.toString('base64')
      const remembered = known.get(digest)
      if (remembered) return remembered
      const found = await readAsSystem(db, 'the tenant of a key is not known yet', (tx) =>
        findKeyById(tx, read.id),
      )
      if (!found || !timingSafeEqual(found.key_hash, read.hash)) return null
      const { tenant_id: tenantId, id, membership_id, user_id, created_by: keyMakerId } = found
      const claims: Claims = {
        userId: user_id ?? membership_id,
        tenantId,
        sessionId: id,
        familyId: null,
        jti: id,
        token: 'key',
        ...(user_id === null ? { subjectType: 'service_account', keyMakerId } : { subjectType: 'user' }),
      }
      known.set(digest, claims, 1)
      return claims
    },
    noteUse(use, lastUsedAt) {
      const at = use.at - (use.at % minute)
      if (lastUsedAt !== null && at <= lastUsedAt) return
      waiting.set(use.id, { ...use, at })
      timer ??= outsideSpans(() => setTimeout(flush, writesEveryMs).unref())
    },
    flush,
  }
}
