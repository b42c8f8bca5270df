import type { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import { serialize } from 'pg-protocol'

/** One statement of the wire protocol. Without a name it is parsed each time. */
export interface Statement {
  name: string
  text: string
  values: readonly WireValue[]
}

/** A parameter: in Postgres's text form, or bytes. */
export type WireValue = string | Buffer | null

/** A column's name, and the OID of its type. */
export interface Column {
  name: string
  dataTypeID: number
}

/** What Postgres answered to one statement. `tag` is the command's tag, such as `UPDATE 3`. */
export interface Answer {
  columns: readonly Column[]
  rows: (string | null)[][]
  tag: string
}

/** The answers to the statements that completed, in order. `error`: why the next one did not. */
export interface Outcome {
  answers: Answer[]
  error: Error | null
}

/** The connection that pg passes to queries which are not of its own classes (such as pg-cursor). */
interface Wire extends EventEmitter {
  stream: Duplex
}

/** Per connection: the names of the statements that Postgres has parsed, with their columns once they are known. */
const parsed = new WeakMap<Wire, Map<string, readonly Column[] | undefined>>()

const execute = serialize.execute()
const sync = serialize.sync()
const describe = serialize.describe({ type: 'P' })

/**
 * Statements that are sent together, with a single Sync at their end: one round trip. After an error Postgres skips
 * everything up to the Sync. Pass it to a pg client's `query`; `outcome` then resolves once, and never rejects.
 *
 * A name counts as parsed only after its ParseComplete, because statements skipped after an error were never parsed.
 * The columns are requested once per statement: Postgres refuses (0A000) a prepared statement whose columns have
 * changed.
 */
export class Flush {
  readonly outcome: Promise<Outcome>
  #next: Flush | undefined
  #ended: () => void = () => undefined
  #sent = false
  readonly #statements: readonly Statement[]
  readonly #settle: (outcome: Outcome) => void
  readonly #answers: Answer[] = []
  #wire: Wire | undefined
  #known = new Map<string, readonly Column[] | undefined>()
  #parsing: string[] = []
  #columns: readonly Column[] | undefined
  #rows: (string | null)[][] = []

  constructor(statements: ReadonlyArray<Statement>) {
    this.#statements = statements
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    this.outcome = promise
    this.#settle = resolve
  }

  /**
   * Passes flushes to `query` of a pg client, in this order, each when the one before it ends. Each writes those behind
   * it along with itself, where it can. Gives their outcomes.
   */
  static sendAll(
    lists: ReadonlyArray<readonly Statement[]>,
    query: (flush: Flush) => void,
  ): Promise<Outcome>[] {
    const queue = lists.map((statements) => new Flush(statements))
    for (const [index, flush] of queue.entries()) {
      const next = queue[index + 1]
      flush.#next = next
      flush.#ended = () => next && query(next)
    }
    if (queue[0]) query(queue[0])
    return queue.map(({ outcome }) => outcome)
  }

  submit(wire: Wire): void {
    if (this.#sent) return
    const messages = this.#messages(wire)
    for (let next = this.#next; Flush.#goesAlong(next, wire); next = next.#next)
      messages.push(...next.#messages(wire))
    wire.stream.write(Buffer.concat(messages))
  }

  /**
   * Whether all names of a flush are parsed, so that it can go out behind another one. A name that the other one still
   * parses does not count, because an error would skip it. Without names nothing goes along: there may be a pooler.
   */
  static #goesAlong(flush: Flush | undefined, wire: Wire): flush is Flush {
    if (!flush) return false
    const known = parsed.get(wire)
    return flush.#statements.every(({ name }) => name !== '' && known?.has(name))
  }

  #messages(wire: Wire): Buffer[] {
    this.#sent = true
    this.#wire = wire
    this.#known = parsed.get(wire) ?? this.#known
    parsed.set(wire, this.#known)
    const messages: Buffer[] = []
    for (const statement of this.#statements) {
      const { name, values } = statement
      if (name === '' || !(this.#known.has(name) || this.#parsing.includes(name))) {
        messages.push(serialize.parse(statement))
        this.#parsing.push(name)
      }
      messages.push(serialize.bind({ statement: name, values: values as WireValue[] }))
      if (!this.#known.get(name)) messages.push(describe)
      messages.push(execute)
    }
    if (this.#parsing.length > 0) wire.on('parseComplete', this.#noteParsed)
    messages.push(sync)
    return messages
  }

  readonly #noteParsed = () => {
    const name = this.#parsing.shift()
    if (name) this.#known.set(name, undefined)
  }

  handleRowDescription({ fields }: { fields: Column[] }): void {
    this.#columns = fields
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    this.#rows.push(fields)
  }

  handleCommandComplete({ text }: { text: string }): void {
    const { name } = this.#statements[this.#answers.length]!
    const columns = this.#columns ?? this.#known.get(name) ?? []
    if (name !== '') this.#known.set(name, columns)
    this.#answers.push({ columns, rows: this.#rows, tag: text })
    this.#columns = undefined
    this.#rows = []
  }

  handleReadyForQuery(): void {
    const complete = this.#answers.length === this.#statements.length
    this.#end(complete ? null : new Error('A flush ended before its last statement'))
  }

  handleError(error: Error): void {
    this.#end(error)
  }

  #end(error: Error | null): void {
    this.#wire?.off('parseComplete', this.#noteParsed)
    this.#settle({ answers: this.#answers, error })
    this.#ended()
  }
}
