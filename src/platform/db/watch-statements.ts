import { InvalidInputError, type DatabaseTransactionConnection as Tx } from 'slonik'
import { sqlState } from './database-errors.ts'

/**
 * Runs `work` with a handle that is dead once `work` has ended, and waits for the statements it left running: one that
 * came after the rollback would be a transaction of its own, committed. Throws, too, where a statement failed and
 * `work` went on to succeed, for Postgres answers the COMMIT of a failed transaction by rolling back, silently.
 * A statement that may fail goes into a nested transaction.
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
      // A nested transaction that fails is rolled back to its savepoint, and this one is as good as before.
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

/** Whether Postgres said no; slonik hides the code of one kind. */
const isRefusal = (error: unknown) => sqlState(error) !== '' || error instanceof InvalidInputError
