import { type QuerySqlToken, sql } from 'slonik'
import { checkViolation, sqlState, uniqueViolation } from './database-errors.ts'
import type { Answer, Statement } from './flush.ts'
import { type Connection, statementNamed } from './pool.ts'
import { type Scope, type Sending, scopeFault, scopeStatements, setLocal } from './scope.ts'
import { statementOf } from './statement.ts'
import { Statements } from './statements.ts'

export type { Scope } from './scope.ts'

/** Begins a transaction block. */
export const begin = (prepared: boolean) => statementNamed('begin', 'begin', prepared)
/** Ends it. */
export const commit = (prepared: boolean) => statementNamed('commit', 'commit', prepared)

/** The error to throw when a statement failed with `error`. */
const thrownFor = (error: Error, failed: Pick<Pending, 'ifTaken'> | undefined): Error =>
  failed?.ifTaken && refusals.has(sqlState(error)) ? failed.ifTaken() : error
const refusals = new Set([uniqueViolation, checkViolation])

const ignore = () => undefined
const ended = () => new Error('A statement came after the end of its transaction')

interface Pending {
  statement: Statement
  resolve(answer: Answer): void
  reject(error: Error): void
  ifTaken?: (() => Error) | undefined
}

/**
 * A transaction on one connection. `begin` and the scope go out with its first statements, and statements that are
 * asked for together share a round trip. It stops working when it ends: a statement after the rollback would be a
 * transaction of its own.
 */
export class Tx extends Statements {
  readonly #connection: Connection
  readonly #sending: Sending
  readonly #scope: Scope | null
  readonly #opening: readonly Statement[]
  #pending: Pending[] = []
  readonly #behindCommit: Statement[] = []
  readonly #whenCommitted: (() => void)[] = []
  readonly #atCommit: (() => void)[] = []
  #waiting = 0
  #flushing: Promise<void> = Promise.resolve()
  #scheduled = false
  #begun = false
  #ended = false
  #failure: Error | null = null

  constructor(connection: Connection, scope: Scope | null, sending: Sending) {
    super()
    this.#connection = connection
    this.#sending = sending
    this.#scope = scope
    this.#opening = [begin(sending.prepared), ...(scope ? scopeStatements(scope, sending) : [])]
  }

  override get distributed(): boolean {
    return this.#sending.distributed
  }

  /**
   * A statement whose answer nothing waits for. It goes out with the next statement, or with the commit. Its error
   * fails the transaction. `ifTaken` makes the error to throw in place of a violation of a unique or check constraint.
   */
  later(token: QuerySqlToken, ifTaken?: () => Error): void {
    this.#sendLater(statementOf(token, this.#sending.prepared), ifTaken)
  }

  /**
   * A statement that goes out behind the commit, in the same round trip, and then is a transaction of its own: nothing may
   * depend on it, and its error is ignored. Or a function, which is called when the transaction has committed.
   */
  afterCommit(what: QuerySqlToken | (() => void)): void {
    this.#assertOpen()
    if (typeof what === 'function') this.#whenCommitted.push(what)
    else this.#behindCommit.push(statementOf(what, this.#sending.prepared))
  }

  /** Calls `add` when the work is done. What it asks for by {@link later} goes out with the commit. */
  atCommit(add: () => void): void {
    this.#atCommit.push(add)
  }

  /** Lets later statements see one more scope, until the transaction ends: of a person, or of a tenant that is purged. As {@link later}. */
  addScope(of: 'user' | 'purged_tenant', id: string): void {
    this.#sendLater(setLocal(`app.${of}_id`, id))
  }

  #sendLater(statement: Statement, ifTaken?: () => Error): void {
    this.#assertOpen()
    this.#pending.push({ statement, resolve: ignore, reject: ignore, ifTaken })
  }

  protected override async ask(token: QuerySqlToken): Promise<Answer> {
    this.#assertOpen()
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    this.#pending.push({ statement: statementOf(token, this.#sending.prepared), resolve, reject })
    this.#waiting++
    if (!this.#scheduled) {
      this.#scheduled = true
      queueMicrotask(() => {
        this.#scheduled = false
        this.#flushing = this.#flushing.then(() => this.#flush())
      })
    }
    return promise.finally(() => this.#waiting--)
  }

  #assertOpen(): void {
    if (this.#ended) throw ended()
  }

  async #flush(): Promise<void> {
    // Pending for together with statements of an earlier flush, which took them.
    if (this.#pending.length === 0) return
    const pending = this.#pending
    this.#pending = []
    const failure = this.#failure ?? (this.#ended ? ended() : await this.#send(pending))
    // After an error Postgres executes nothing more in this transaction.
    for (const { reject } of pending) if (failure) reject(failure)
  }

  /** Sends statements, resolves those that completed, and gives the error of the next one. */
  async #send(pending: readonly Omit<Pending, 'reject'>[]): Promise<Error | null> {
    const before = this.#begun ? [] : this.#opening
    this.#begun = true
    const { answers, error } = await this.#connection.send([
      ...before,
      ...pending.map(({ statement }) => statement),
    ])
    const fault = before.length > 0 ? scopeFault(this.#scope, answers[before.length - 1]) : null
    this.#failure = error ? thrownFor(error, pending[answers.length - before.length]) : fault
    if (this.#failure && !error) return this.#failure
    for (const [index, answer] of answers.slice(before.length).entries()) pending[index]?.resolve(answer)
    return this.#failure
  }

  /**
   * Does `work` and undoes it in the database, as if it had not been done; gives its value. Throws what `work` throws, and
   * what would fail its commit. What `work` asks for behind the commit is not done.
   */
  async attempt<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    await this.query(sql.unsafe`savepoint attempt`)
    const inner = new Tx(this.#connection, null, this.#sending)
    inner.#begun = true
    try {
      const value = await work(inner)
      inner.#finish()
      const failure = inner.#pending.length > 0 ? await inner.#send(inner.#pending) : null
      if (failure) throw failure
      return value
    } finally {
      inner.#ended = true
      await inner.#flushing
      await this.query(sql.unsafe`rollback to savepoint attempt`)
    }
  }

  /**
   * Commits. Throws when a statement still runs, and when one failed although the work succeeded: Postgres silently
   * rolls back at the commit of a failed transaction.
   */
  async commit(): Promise<void> {
    this.#finish()
    this.#ended = true
    if (!this.#begun && this.#pending.length === 0) return
    let tag = ''
    const end = {
      statement: commit(this.#sending.prepared),
      resolve: (answer: Answer) => {
        tag = answer.tag
      },
    }
    const behind = this.#behindCommit.map((statement) => ({ statement, resolve: ignore }))
    const failure = await this.#send([...this.#pending, end, ...behind])
    this.#pending = []
    if (tag !== 'COMMIT') throw failure ?? new Error(`Postgres answered ${tag} to a commit`)
    for (const call of this.#whenCommitted) call()
  }

  /** Adds what goes out with the commit. Throws unless the work is done and all its statements succeeded. */
  #finish(): void {
    if (this.#waiting > 0) throw new Error('A transaction ended while a statement of it was still running')
    if (this.#failure)
      throw new Error('A statement failed and its transaction went on', { cause: this.#failure })
    for (const add of this.#atCommit) add()
  }

  /** Waits for the statements that run, and rolls back. */
  async rollBack(): Promise<void> {
    this.#ended = true
    await this.#flushing
    if (this.#begun) await this.#connection.rollBack()
  }
}
