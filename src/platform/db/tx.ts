import type { QuerySqlToken } from 'slonik'
import type { Answer, Statement } from './flush.ts'
import { type Connection, statementNamed } from './pool.ts'
import { statementOf } from './statement.ts'
import { Statements } from './statements.ts'

/** The tenant and user whose rows a transaction sees. Row-level security compares both with each row. */
export interface Scope {
  tenantId: string
  userId: string
  /** Who acts as the user. Every audit row and event of the transaction names them. */
  impersonator?: { id: string; email: string } | null
}

/** How a transaction begins: `begin`, and the scope if it has one. */
function opening(scope: Scope | null, prepared: boolean): Statement[] {
  const begin = statementNamed('begin', 'begin', prepared)
  return scope ? [begin, scopeStatement(scope, prepared)] : [begin]
}

const setScope = `select set_config('app.tenant_id', $1, true), set_config('app.user_id', $2, true)`

const setScopeOfActor = `${setScope}, set_config('app.impersonator_id', $3, true), set_config('app.impersonator_email', $4, true)`

/** Sets the scope until the transaction ends. */
export function scopeStatement({ tenantId, userId, impersonator }: Scope, prepared: boolean): Statement {
  if (!impersonator) return { ...statementNamed('scope', setScope, prepared), values: [tenantId, userId] }
  const values = [tenantId, userId, impersonator.id, impersonator.email]
  return { ...statementNamed('scope of an actor', setScopeOfActor, prepared), values }
}

const commit = (prepared: boolean) => statementNamed('commit', 'commit', prepared)

/** Null when the answer to {@link scopeStatement} says that the scope was set as asked. */
export function scopeFault(scope: Scope | null, answer: Answer | undefined): Error | null {
  const [tenantId, userId, actorId] = answer?.rows[0] ?? []
  const names = !scope?.impersonator || actorId === scope.impersonator.id
  const isSet = !scope || (tenantId === scope.tenantId && userId === scope.userId && names)
  return isSet ? null : new Error('The scope was not set')
}

const ended = () => new Error('A statement came after the end of its transaction')

interface Asked {
  statement: Statement
  resolve(answer: Answer): void
  reject(error: Error): void
}

/**
 * A transaction on one connection. `begin` and the scope go out with its first statements, and statements that are
 * asked for together share a round trip. It stops working when it ends: a statement after the rollback would be a
 * transaction of its own.
 */
export class Tx extends Statements {
  readonly #connection: Connection
  readonly #prepared: boolean
  readonly #scope: Scope | null
  #asked: Asked[] = []
  #waiting = 0
  #flushing: Promise<void> = Promise.resolve()
  #scheduled = false
  #begun = false
  #ended = false
  #failure: Error | null = null

  constructor(connection: Connection, { scope, prepared }: { scope: Scope | null; prepared: boolean }) {
    super()
    this.#connection = connection
    this.#prepared = prepared
    this.#scope = scope
  }

  /**
   * A statement whose answer nothing waits for. It goes out with the next statement, or with the commit. Its error
   * fails the transaction.
   */
  later(token: QuerySqlToken): void {
    this.#assertOpen()
    const ignore = () => undefined
    this.#asked.push({ statement: statementOf(token, this.#prepared), resolve: ignore, reject: ignore })
  }

  protected override async ask(token: QuerySqlToken): Promise<Answer> {
    this.#assertOpen()
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    this.#asked.push({ statement: statementOf(token, this.#prepared), resolve, reject })
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
    // Asked for together with statements of an earlier flush, which took them.
    if (this.#asked.length === 0) return
    const asked = this.#asked
    this.#asked = []
    const failure = this.#failure ?? (this.#ended ? ended() : await this.#send(asked))
    // After an error Postgres executes nothing more in this transaction.
    for (const { reject } of asked) if (failure) reject(failure)
  }

  /** Sends statements, resolves those that completed, and gives the error of the next one. */
  async #send(asked: readonly Omit<Asked, 'reject'>[]): Promise<Error | null> {
    const begin = this.#begun ? [] : opening(this.#scope, this.#prepared)
    this.#begun = true
    const { answers, error } = await this.#connection.send([
      ...begin,
      ...asked.map(({ statement }) => statement),
    ])
    this.#failure = error ?? (begin.length > 0 ? scopeFault(this.#scope, answers[1]) : null)
    if (this.#failure && !error) return this.#failure
    for (const [index, answer] of answers.slice(begin.length).entries()) asked[index]?.resolve(answer)
    return this.#failure
  }

  /**
   * Commits. Throws when a statement still runs, and when one failed although the work succeeded: Postgres silently
   * rolls back at the commit of a failed transaction.
   */
  async commit(): Promise<void> {
    if (this.#waiting > 0) throw new Error('A transaction ended while a statement of it was still running')
    if (this.#failure)
      throw new Error('A statement failed and its transaction went on', { cause: this.#failure })
    this.#ended = true
    if (!this.#begun && this.#asked.length === 0) return
    let tag = ''
    const end = {
      statement: commit(this.#prepared),
      resolve: (answer: Answer) => {
        tag = answer.tag
      },
    }
    const failure = await this.#send([...this.#asked, end])
    this.#asked = []
    if (failure) throw failure
    if (tag !== 'COMMIT') throw new Error(`Postgres answered ${tag} to a commit`)
  }

  /** Waits for the statements that run, and rolls back. */
  async rollBack(): Promise<void> {
    this.#ended = true
    await this.#flushing
    if (this.#begun) await this.#connection.rollBack()
  }
}
