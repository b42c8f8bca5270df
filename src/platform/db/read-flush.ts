import type { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import { serialize } from 'pg-protocol'

/** One statement as it goes over the wire; without a name it is parsed each time. */
export interface Statement {
  name: string
  text: string
  values: readonly WireValue[]
}

/** A parameter in Postgres's text form, or bytes. */
export type WireValue = string | Buffer | null

/** What a column is called, and the OID of its type. */
export interface Column {
  name: string
  dataTypeID: number
}

/** A connection, as pg hands it to queries that are not of its own classes (pg-cursor is one). */
interface Wire extends EventEmitter {
  stream: Duplex
}

/** Per connection, the names that Postgres said it has parsed, with the columns once it has told them. */
const parsed = new WeakMap<Wire, Map<string, Column[] | undefined>>()

/**
 * A read-only transaction in one flush: begin, the scope where there is one, the statement, commit, and a single Sync
 * behind them, before which an error makes Postgres skip all that is left. To be handed to a pg client's `query`;
 * `answer` is then settled once. After a rejection the transaction is still open, and failed.
 *
 * A name counts as known only when its ParseComplete came: what an error skipped was never parsed. Columns are asked
 * for once, as Postgres refuses (0A000) a known statement whose columns have changed since.
 */
export class ReadFlush {
  /** The rows, and before them what the scope was set to. */
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

  /** Resolves only when every statement was completed, the commit too. */
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
