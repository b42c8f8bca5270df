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

/** The connection that pg passes to queries which are not of its own classes (such as pg-cursor). */
interface Wire extends EventEmitter {
  stream: Duplex
}

/** Per connection: the names of the statements that Postgres has parsed, with their columns once they are known. */
const parsed = new WeakMap<Wire, Map<string, Column[] | undefined>>()

/**
 * A read-only transaction in one flush: begin, the scope (if any), the statement, commit, and a single Sync. After an
 * error Postgres skips everything up to the Sync. Pass it to a pg client's `query`; `answer` then settles once. After a
 * rejection the transaction is still open and in the failed state.
 *
 * A name counts as parsed only after its ParseComplete, because statements skipped after an error were never parsed.
 * The columns are requested once per statement: Postgres refuses (0A000) a prepared statement whose columns have
 * changed.
 */
export class ReadFlush {
  /** The rows, their columns, and the values that the scope was set to. */
  readonly answer: Promise<{ columns: Column[]; rows: (string | null)[][]; set: (string | null)[] }>
  readonly #settle = Promise.withResolvers<Awaited<ReadFlush['answer']>>()
  readonly #steps: Statement[]
  readonly #asked: Statement
  #wire: Wire | undefined
  #parsing: Statement[] = []
  #step = 0
  #columns: Column[] | undefined
  #rows: (string | null)[][] = []
  #set: (string | null)[] = []

  constructor(scope: Statement | undefined, asked: Statement, prepared: boolean) {
    const named = (name: string, text: string) => ({ name: prepared ? name : '', text, values: [] })
    this.answer = this.#settle.promise
    this.#asked = asked
    this.#steps = [
      named('begin', 'begin read only'),
      ...(scope ? [scope] : []),
      asked,
      named('commit', 'commit'),
    ]
  }

  submit(wire: Wire): void {
    this.#wire = wire
    const known = parsed.get(wire) ?? new Map()
    parsed.set(wire, known)
    this.#columns = known.get(this.#asked.name)
    this.#parsing = this.#steps.filter(({ name }) => !known.has(name))
    if (this.#parsing.length > 0) wire.on('parseComplete', this.#noteParsed)
    const messages = this.#steps.flatMap((step) => this.#messagesOf(step))
    wire.stream.write(Buffer.concat([...messages, serialize.sync()]))
  }

  #messagesOf(step: Statement): Buffer[] {
    const described = step === this.#asked && !this.#columns
    return [
      ...(this.#parsing.includes(step) ? [serialize.parse(step)] : []),
      serialize.bind({ statement: step.name, values: [...step.values] }),
      ...(described ? [serialize.describe({ type: 'P' })] : []),
      serialize.execute(),
    ]
  }

  readonly #noteParsed = () => {
    const { name } = this.#parsing.shift() ?? {}
    if (name) parsed.get(this.#wire!)?.set(name, undefined)
  }

  handleRowDescription({ fields }: { fields: Column[] }): void {
    this.#columns = fields
    if (this.#asked.name) parsed.get(this.#wire!)?.set(this.#asked.name, fields)
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    if (this.#steps[this.#step] === this.#asked) this.#rows.push(fields)
    else this.#set = fields
  }

  handleCommandComplete(): void {
    this.#step++
  }

  /** Resolves only when all statements completed, including the commit. */
  handleReadyForQuery(): void {
    this.#wire?.off('parseComplete', this.#noteParsed)
    if (this.#step === this.#steps.length)
      this.#settle.resolve({ columns: this.#columns ?? [], rows: this.#rows, set: this.#set })
    else this.#settle.reject(new Error('A read ended before its commit'))
  }

  handleError(error: Error): void {
    this.#wire?.off('parseComplete', this.#noteParsed)
    this.#settle.reject(error)
  }
}
