import { readInTenant } from '../../database/executor/read.ts'
import type { Databases } from '../../database/executor/transaction.ts'
import type { DeclaredWords } from '../../request/policies-in-force.ts'
import { listDeclaredActions } from '../../tenancy/roles/store.ts'

const keptMs = 10_000

/** Reads the words again after 10 s: they are only hints, and an application can ask often about words that no rule names. */
export function declaredWords({
  db,
  clock,
}: {
  db: Pick<Databases, 'api'>
  clock: () => number
}): DeclaredWords {
  let known: { at: number; words: Promise<ReadonlySet<string>> } | undefined
  return (scope) => {
    const at = clock()
    if (known && at - known.at < keptMs) return known.words
    const words = readInTenant(db, scope, listDeclaredActions).then(namesIn)
    known = { at, words }
    words.catch(() => {
      if (known?.words === words) known = undefined
    })
    return words
  }
}

/** The names of actions, and of their resource types. */
export const namesIn = (actions: readonly string[]): Set<string> =>
  new Set(actions.flatMap((name) => [name, name.slice(0, name.indexOf(':'))]))
