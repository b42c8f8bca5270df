import type { QuerySqlToken } from 'slonik'
import { inPostgresSpan } from '../../observe/tracing/span.ts'
import type { Answer, Statement } from './flush.ts'
import { type Pool, statementNamed } from './pool.ts'
import { type Scope, scopeFault, scopeStatements } from './scope.ts'
import { statementOf } from './statement.ts'
import { Statements } from './statements.ts'
import { assertOutside, type Databases, repeated } from './transaction.ts'
import { begin, commit } from './tx.ts'

/** How the pool sends a batch. */
type By = 'read' | 'readShared' | 'write'

/** What a batch sees, and whether it writes. */
interface BatchOptions {
  scope: Scope | null
  writes: boolean
}

const readOnly = `set_config('transaction_read_only', 'on', true)`

/** A read writes no rows that would name who acts as the user. */
const withoutActor = (scope: Scope | null): Scope | null =>
  scope && { tenantId: scope.tenantId, userId: scope.userId }

/** What comes before the statements of a batch: its scope, and that it only reads. The last answer names the scope. */
function opening({ scope, writes }: BatchOptions, { prepared, distributed }: Pool): Statement[] {
  const set = scope ? scopeStatements(scope, { prepared, distributed }) : []
  if (writes) return set
  const last = set.pop()
  if (!last) return [statementNamed('read-only', `select ${readOnly}`, prepared)]
  return [...set, { ...last, name: last.name && `read-only ${last.name}`, text: `${last.text}, ${readOnly}` }]
}

/** On a cluster, only what stands in a transaction block is one transaction, and sees the scope. */
const needsBlock = ({ scope, writes }: BatchOptions, { distributed }: Pool) =>
  distributed && (scope !== null || writes)

/**
 * A transaction in one round trip: scope and statements go out together. They need no begin and commit: what is sent
 * before one Sync is one transaction, which an error rolls back (PostgreSQL documentation, Message Flow, Pipelining). It
 * collects statements until `send`; then no more can be asked for. All answers resolve after the commit, or all reject.
 */
class Batch extends Statements {
  readonly #pool: Pool
  readonly #options: BatchOptions
  readonly #statements: Statement[] = []
  readonly #answers = Promise.withResolvers<Answer[]>()
  #sent = false

  constructor(pool: Pool, scope: Scope | null, writes: boolean) {
    assertOutside()
    super()
    this.#pool = pool
    this.#options = { scope: writes ? scope : withoutActor(scope), writes }
  }

  override get distributed(): boolean {
    return this.#pool.distributed
  }

  protected override async ask(token: QuerySqlToken): Promise<Answer> {
    // A second flush would be a second transaction, which can see a different state.
    if (this.#sent)
      throw new Error('A batch asks for all its statements at once: take a transaction for more')
    const index = this.#statements.push(statementOf(token, this.#pool.prepared)) - 1
    return (await this.#answers.promise)[index]!
  }

  send(by: By): void {
    this.#sent = true
    if (this.#statements.length === 0) return
    const text = () => ({ 'db.query.text': this.#statements.map((statement) => statement.text).join('; ') })
    const name = this.#options.writes ? 'transaction' : 'read'
    inPostgresSpan(name, text, () => repeated(() => this.#run(by), this.#pool.retried)).then(
      this.#answers.resolve,
      this.#answers.reject,
    )
  }

  async #run(by: By): Promise<Answer[]> {
    const { scope } = this.#options
    const block = needsBlock(this.#options, this.#pool)
    const set = opening(this.#options, this.#pool)
    const before = block ? [begin(this.#pool.prepared), ...set] : set
    const after = block ? [commit(this.#pool.prepared)] : []
    const { answers, error } = await this.#pool[by]([...before, ...this.#statements, ...after])
    const fault = error ?? scopeFault(scope, answers[before.length - 1])
    if (fault) throw fault
    return answers.slice(before.length, before.length + this.#statements.length)
  }
}

/** Sends what `work` asks for before its first await. `by` can be told after it: what was asked for can be slow, or not. */
export function atOnce<T>(
  pool: Pool,
  { scope, by }: { scope: Scope | null; by: By | (() => By) },
  work: (statements: Statements) => T,
): T {
  const batch = new Batch(pool, scope, by === 'write')
  const answer = work(batch)
  batch.send(typeof by === 'function' ? by() : by)
  return answer
}

/**
 * As `asSystem`, for changes that do not depend on one another's answers: `work` asks for all its statements before its
 * first await, and the commit goes out with them.
 */
export function writeAsSystem<T>(
  { system }: Pick<Databases, 'system'>,
  _reason: string,
  work: (statements: Statements) => Promise<T>,
): Promise<T> {
  return atOnce(system, { scope: null, by: 'write' }, work)
}
