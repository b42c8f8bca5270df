import { channel } from 'node:diagnostics_channel'
import pg from 'pg'
import { createKeyedSemaphore } from '../../limits/keyed-semaphore.ts'
import { isDatabaseAway, sqlState } from './database-errors.ts'
import { Flush, type Outcome, type Statement } from './flush.ts'
import { gatherReads } from './gather-reads.ts'

/** How a pool is opened: at most `size` connections; `prepared` names statements so that they are parsed once. */
export interface PoolOptions {
  size: number
  prepared: boolean
  /** Whether Postgres coordinates a Citus cluster: see {@link scopeStatements}. */
  distributed?: boolean
  applicationName: string
  /** Called with the seconds that each caller waited for a connection. */
  waited?: (seconds: number) => void
  /** Called when a transaction is repeated after a serialization failure or a deadlock. */
  retried?: () => void
}

/** The current connections of a pool. */
export interface PoolLoad {
  busy: number
  idle: number
  connecting: number
  /** Callers that wait for a connection. */
  waiting: number
}

/** A connection of a pool, held by one caller. */
export interface Connection {
  /** One round trip. Never rejects: the error is 08006 for a lost connection, 57014 where Postgres did not answer. */
  send(statements: readonly Statement[]): Promise<Outcome>
  /** Several flushes, each a transaction of its own, written at once where that is possible. Else as `send`. */
  sendAll(flushes: readonly (readonly Statement[])[]): Promise<Outcome>[]
  /** Ends a transaction that is still open. A connection that cannot do that is closed. */
  rollBack(): Promise<void>
}

/** Holds a connection for read-only flushes. `work` must leave no transaction open. */
export type ForRead = <T>(work: (connection: Connection) => Promise<T>) => Promise<T>

/** The connections of one database role. */
export interface Pool {
  readonly prepared: boolean
  readonly distributed: boolean
  readonly retried: () => void
  /** One read-only flush on a connection of its own. Rejects without a connection. */
  read(statements: readonly Statement[]): Promise<Outcome>
  /**
   * As `read`, on a connection that it shares with other reads of the same turn of the event loop: a write and a wake-up
   * of Postgres for all of them. A slow read would delay the others: only for reads of a few rows by their keys.
   */
  readShared(statements: readonly Statement[]): Promise<Outcome>
  /** One flush that changes something, as a transaction of its own. */
  write(statements: readonly Statement[]): Promise<Outcome>
  /** Holds a connection for a transaction. One connection always stays free for reads. */
  forTransaction<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Rejects when Postgres does not answer. */
  ping(): Promise<void>
  load(): PoolLoad
  end(): Promise<void>
}

/**
 * Timeouts of the database (ms). `transaction` includes the wait for a connection, because clients are promised an
 * answer within 5 s. No setting changes them. Tests set longer ones, so that none fails on a slow machine.
 */
export const timeouts = {
  connect: 2_000,
  lock: 3_000,
  transaction: 4_000,
  statement: 5_000,
  idleInTransaction: 10_000,
  idle: 60_000,
}

/** How long a read waits for Postgres's answer (ms); it waits as long again for a connection. */
const readMs = 2_000

/** Every flush, as its list of statements. A test counts the round trips of a request with it. */
export const flushes = channel('bailiwick:flush')

/**
 * Opens a pool. It connects at the first use. All settings are local to a transaction, so connections are not reset on
 * release (DISCARD ALL costs a quarter of the throughput and drops prepared plans).
 */
export function openPool(url: string, options: PoolOptions): Pool {
  const { size, prepared, distributed = false, applicationName } = options
  const { waited = () => undefined, retried = () => undefined } = options
  const pool = new pg.Pool({
    connectionString: addressOf(url, applicationName, distributed ? ofCluster() : []),
    max: size,
    connectionTimeoutMillis: timeouts.connect,
    idleTimeoutMillis: timeouts.idle,
    statement_timeout: timeouts.statement,
    idle_in_transaction_session_timeout: timeouts.idleInTransaction,
  })
  // A lost connection fails its flush. Without a flush there is nothing to report.
  pool.on('connect', (client) => client.on('error', () => undefined))
  pool.on('error', () => undefined)

  const transactionTurn = createKeyedSemaphore({
    maxConcurrent: Math.max(1, size - 1),
    maxWaiting: Number.POSITIVE_INFINITY,
    maxWaitMs: timeouts.connect,
    failsAll: isDatabaseAway,
  })
  let waiting = 0
  const take = async (begun: number): Promise<pg.PoolClient> => {
    try {
      return await pool.connect()
    } catch (error) {
      throw lostConnection(error)
    } finally {
      waiting--
      waited((performance.now() - begun) / 1_000)
    }
  }
  const hold = async <T>(answerMs: number, begun: number, work: (connection: Connection) => Promise<T>) => {
    const client = await take(begun)
    try {
      return await work(connectionOf(client, answerMs))
    } finally {
      client.release(streamOf(client).destroyed || client.getTransactionStatus() !== 'I')
    }
  }
  const forRead: ForRead = (work) => {
    waiting++
    return hold(readMs, performance.now(), work)
  }
  /** On a cluster a flush is a transaction block, which an error leaves open. */
  const sendAlone = async (connection: Connection, statements: readonly Statement[]): Promise<Outcome> => {
    const outcome = await connection.send(statements)
    if (distributed && outcome.error) await connection.rollBack()
    return outcome
  }
  const read: Pool['read'] = (statements) => forRead((connection) => sendAlone(connection, statements))
  const forTransaction: Pool['forTransaction'] = async (work) => {
    const begun = performance.now()
    let inTurn = false
    waiting++
    try {
      return await transactionTurn('', () => {
        inTurn = true
        // Postgres ends a statement after its timeout. A flush that is later still has lost its connection.
        return hold(timeouts.statement + readMs, begun, work)
      })
    } finally {
      if (!inTurn) waiting--
    }
  }
  const ping = statementNamed('ping', 'select 1', prepared)
  return {
    prepared,
    distributed,
    retried,
    read,
    // After an error, an open transaction block would refuse the reads behind it.
    readShared: distributed ? read : gatherReads(forRead),
    write: (statements) => forTransaction((connection) => sendAlone(connection, statements)),
    forTransaction,
    async ping() {
      const { error } = await read([ping])
      if (error) throw error
    },
    // pg's pools count connecting clients as busy.
    load: () => ({ busy: pool.totalCount - pool.idleCount, idle: pool.idleCount, connecting: 0, waiting }),
    end: () => pool.end(),
  }
}

/** A statement of our own, such as `begin`. */
export const statementNamed = (name: string, text: string, prepared: boolean): Statement => ({
  name: prepared ? name : '',
  text,
  values: [],
})

const isFatal = (error: Error) => (error as { severity?: string }).severity === 'FATAL'

/** Postgres refuses a prepared statement: its columns changed since it was parsed, or a pooler lost it. */
const statementLost = /^(0A|26)/

function connectionOf(client: pg.PoolClient, answerMs: number): Connection {
  const close = () => streamOf(client).destroy()
  const settle = async (outcome: Promise<Outcome>, isLate: () => boolean): Promise<Outcome> => {
    const { answers, error } = await outcome
    if (!error) return { answers, error }
    if (isLate()) return { answers, error: noAnswer() }
    // A FATAL error is followed by the end of the connection, which may not have arrived yet.
    if (statementLost.test(sqlState(error)) || isFatal(error)) close()
    return { answers, error: lostConnection(error) }
  }
  const sendAll: Connection['sendAll'] = (lists) => {
    if (lists.length === 0) return []
    for (const statements of lists) flushes.publish(statements)
    let late = false
    const timer = setTimeout(() => {
      late = true
      close()
    }, answerMs)
    const outcomes = Flush.sendAll(lists, (flush) => client.query(flush as unknown as pg.Submittable))
    outcomes.at(-1)?.then(() => clearTimeout(timer))
    return outcomes.map((outcome) => settle(outcome, () => late))
  }
  return {
    send: (statements) => sendAll([statements])[0]!,
    sendAll,
    async rollBack() {
      const timer = setTimeout(close, answerMs)
      await client.query('rollback').catch(close)
      clearTimeout(timer)
    },
  }
}

/** As if Postgres had ended the statement (57014): other connections can still work. */
const noAnswer = () => Object.assign(new Error('Postgres did not answer in time'), { code: '57014' })

const streamOf = (client: pg.PoolClient) =>
  (client as unknown as { connection: pg.Connection }).connection.stream

/** pg reports a lost connection, and a connection timeout, without a code. This adds the SQLSTATE 08006. */
function lostConnection(error: unknown): Error {
  if (error instanceof Error && sqlState(error)) return error
  return Object.assign(new Error('Postgres could not be reached', { cause: error }), { code: '08006' })
}

/**
 * Citus asks the shards of a node one after another. With several connections it would refuse later writes of the same
 * transaction to tables that refer to those on every node. It also locks the whole of such a table for each change, unless changes may
 * come to the nodes in any order: ours may, because each locks its row on all of them until it commits.
 */
const ofCluster = () => [
  'citus.multi_shard_modify_mode=sequential',
  'citus.all_modifications_commutative=on',
  `citus.node_connection_timeout=${timeouts.connect}`,
]

/** A database's address, with the settings of all our connections. */
export function addressOf(url: string, applicationName: string, more: readonly string[] = []): string {
  const address = new URL(url)
  const settings = [`lock_timeout=${timeouts.lock}`, ...more]
  address.searchParams.set('application_name', applicationName)
  address.searchParams.set('options', settings.map((setting) => `-c ${setting}`).join(' '))
  return address.href
}
