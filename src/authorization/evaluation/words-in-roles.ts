import { readInTenant } from '../../database/executor/read.ts'
import type { Databases } from '../../database/executor/transaction.ts'
import { workBudget } from '../../limits/work-budget.ts'
import { createLruCache } from '../../policy-engine/lru-cache.ts'
import { namesIn } from './declared-words.ts'
import { listWordsInRoles, type Words } from './store.ts'

interface Scope {
  tenantId: string
  userId: string
}

/** Gives those of the words that a role of the tenant names, or that belong to one. */
export type WordsInRoles = (scope: Scope, revision: number, words: Words) => Promise<ReadonlySet<string>>

/** The words of a tenant at a revision. */
interface Known {
  revision: number
  /** of each word asked about */
  asked: Set<string>
  named: Set<string>
  /** the last read, and what is asked for while it runs: the next one reads all of it */
  running: Promise<void>
  next: { actions: string[]; types: string[]; read: Promise<void> } | null
}

const maxWords = 200_000
const maxWordsOfTenant = 10_000

/**
 * Reads each word once for a policy revision, which each change of a role changes: all permissions of the tenant are
 * looked at, which is costly work, and not for the connection that other tenants read on. Throws 503 if its turn does not come.
 */
export function wordsInRoles({ db }: { db: Pick<Databases, 'api'> }): WordsInRoles {
  const kept = createLruCache<Known>(maxWords)
  const knownAt = (tenantId: string, revision: number): Known => {
    const known = kept.get(tenantId)
    if (known?.revision === revision && known.asked.size < maxWordsOfTenant) return known
    const none = {
      asked: new Set<string>(),
      named: new Set<string>(),
      running: Promise.resolve(),
      next: null,
    }
    const fresh: Known = { revision, ...none }
    kept.set(tenantId, fresh, 1)
    return fresh
  }
  const read = async (scope: Scope, known: Known): Promise<void> => {
    const { actions, types } = known.next!
    known.running = known.next!.read
    known.next = null
    const found = await workBudget.inTurn('words', scope, () =>
      readInTenant(db, scope, (tx) => listWordsInRoles(tx, scope.tenantId, { actions, types })),
    )
    for (const word of [...actions, ...types]) known.asked.add(word)
    for (const name of namesIn(found)) known.named.add(name)
    if (kept.get(scope.tenantId) === known)
      kept.set(scope.tenantId, known, known.asked.size + known.named.size)
  }
  /** One read at a time: those who ask while it runs share the next. */
  const readTogether = (scope: Scope, known: Known, { actions, types }: Words): Promise<void> => {
    const ended = known.running.catch(() => {})
    known.next ??= { actions: [], types: [], read: ended.then(() => read(scope, known)) }
    known.next.actions.push(...actions)
    known.next.types.push(...types)
    return known.next.read
  }
  return async (scope, revision, { actions, types }) => {
    const known = knownAt(scope.tenantId, revision)
    const isNew = (word: string) => !known.asked.has(word)
    // An action and a type differ in their form.
    const asked = { actions: actions.filter(isNew), types: types.filter(isNew) }
    if (asked.actions.length + asked.types.length > 0) await readTogether(scope, known, asked)
    return known.named
  }
}
