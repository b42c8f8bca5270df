import { readInTenant } from '../../platform/db/read.ts'
import type { Databases } from '../../platform/db/transaction.ts'
import { workBudget } from '../../platform/work-budget.ts'
import { createLruCache } from '../../policy-engine/lru-cache.ts'
import { namesIn } from './declared-words.ts'
import { listWordsInRoles, type Words } from './store.ts'

/** Gives those of the words that a role of the tenant names, or that belong to one. */
export type WordsInRoles = (
  scope: { tenantId: string; userId: string },
  revision: number,
  words: Words,
) => Promise<ReadonlySet<string>>

interface Known {
  revision: number
  /** of each word asked about */
  asked: Set<string>
  named: Set<string>
}

const maxWords = 200_000
const maxWordsOfTenant = 10_000

/**
 * Reads each word once for a policy revision, which each change of a role changes: all permissions of the tenant are
 * looked at, which is costly work, and not for the connection that other tenants read on. No answer waits for a turn of that
 * work: throws 503 then.
 */
export function wordsInRoles({ db }: { db: Pick<Databases, 'api'> }): WordsInRoles {
  const kept = createLruCache<Known>(maxWords)
  const knownAt = (tenantId: string, revision: number): Known => {
    const known = kept.get(tenantId)
    const isUsable = known?.revision === revision && known.asked.size < maxWordsOfTenant
    return isUsable ? known : { revision, asked: new Set(), named: new Set() }
  }
  return async (scope, revision, words) => {
    const { tenantId } = scope
    const known = knownAt(tenantId, revision)
    const isNew = (word: string) => !known.asked.has(word)
    // An action and a type differ in their form.
    const asked = { actions: words.actions.filter(isNew), types: words.types.filter(isNew) }
    if (asked.actions.length + asked.types.length === 0) return known.named
    const found = await workBudget.inTurn(
      'reads',
      scope,
      () => readInTenant(db, scope, (read) => listWordsInRoles(read, tenantId, asked)),
      { waits: false },
    )
    for (const word of [...asked.actions, ...asked.types]) known.asked.add(word)
    for (const name of namesIn(found)) known.named.add(name)
    kept.set(tenantId, known, known.asked.size + known.named.size)
    return known.named
  }
}
