import { InvalidInputError, type DatabaseTransactionConnection as Tx } from 'slonik'
import { sqlState } from './database-errors.ts'

/**
 * Runs `work` with a handle that stops working when `work` ends, and waits for statements that still run: a statement
 * after the rollback would be committed as a transaction of its own. Also throws when a statement failed but `work`
 * succeeded, because Postgres silently rolls back at the COMMIT of a failed transaction. Put a statement that is
 * allowed to fail into a nested transaction.
 */
export async function watchStatements<T>(tx: Tx, work: (tx: Tx) => Promise<T>): Promise<T> {
  const running = new Set<Promise<unknown>>()
  let ended = false
  let failure: unknown
  const run = (name: PropertyKey, method: (...args: unknown[]) => unknown, args: unknown[]) => {
    if (ended) throw new Error('A statement came after the end of its transaction')
    const answer = method.apply(tx, name === 'transaction' ? watchNested(args) : args)
    if (!(answer instanceof Promise)) return answer
    running.add(answer)
    const settled = () => running.delete(answer)
    answer.then(settled, (error) => {
      settled()
      // A failed nested transaction is rolled back to its savepoint and does not affect this one.
      if (name !== 'transaction' && isRefusal(error)) failure = error
    })
    return answer
  }
  const watched = new Proxy(tx, {
    get: (_target, name) => {
      const found = Reflect.get(tx, name)
      return typeof found === 'function' ? (...args: unknown[]) => run(name, found, args) : found
    },
  })
  try {
    const value = await work(watched)
    if (running.size > 0) throw new Error('A transaction ended while a statement of it was still running')
    if (failure) throw new Error('A statement failed and its transaction went on', { cause: failure })
    return value
  } finally {
    ended = true
    await Promise.allSettled(running)
  }
}

const watchNested = ([work, ...rest]: unknown[]) => [
  (tx: Tx) => watchStatements(tx, work as (tx: Tx) => Promise<unknown>),
  ...rest,
]

/** True when Postgres refused a statement. Slonik hides the code of InvalidInputError. */
const isRefusal = (error: unknown) => sqlState(error) !== '' || error instanceof InvalidInputError
