import pg from 'pg'
import { connectionName } from '../../database/migrate/running-releases.ts'

/** Waits for new messages in the outbox. */
export interface OutboxListener {
  /** Resolves at the next write or after `timeout` ms; at once when there was a write since the last call. */
  written(timeout: number): Promise<void>
  close(): void
}

const reconnectAfter = 250

/** Listens on a connection of its own, and reconnects until it is closed. Never throws. */
export function openOutboxListener(url: string, onError: (error: unknown) => void): OutboxListener {
  let pending = true
  let wake: (() => void) | undefined
  let client: pg.Client | undefined
  let closed = false
  const wakeUp = () => {
    pending = true
    wake?.()
  }
  const listen = () => {
    if (closed) return
    const current = new pg.Client({
      connectionString: url,
      application_name: connectionName('relay'),
      keepAlive: true,
    })
    client = current
    let over = false
    const again = (error?: unknown) => {
      if (over) return
      over = true
      if (error && !closed) onError(error)
      current.end().catch(() => undefined)
      setTimeout(listen, reconnectAfter).unref()
    }
    current.on('error', again).on('end', again).on('notification', wakeUp)
    // Wake up after connecting, too: messages can have been written while there was no connection.
    current
      .connect()
      .then(() => current.query('listen outbox'))
      .then(wakeUp, again)
  }
  listen()
  return {
    async written(timeout) {
      if (!pending && !closed)
        await new Promise<void>((done) => {
          const timer = setTimeout(done, timeout)
          wake = () => {
            clearTimeout(timer)
            done()
          }
        })
      pending = false
    },
    close() {
      closed = true
      wakeUp()
      client?.end().catch(() => undefined)
    },
  }
}
