import pg from 'pg'

/** Rings when something was written to the outbox. */
export interface OutboxBell {
  /** Resolves when it rang since the last call, else at the next ring or after `timeout` ms. */
  rung(timeout: number): Promise<void>
  close(): void
}

const reconnectAfter = 250

/** Listens on a connection of its own and connects again for as long as it is open; never throws. */
export function openOutboxBell(url: string, onError: (error: unknown) => void): OutboxBell {
  let pending = true
  let wake: (() => void) | undefined
  let client: pg.Client | undefined
  let closed = false
  const ring = () => {
    pending = true
    wake?.()
  }
  const listen = () => {
    if (closed) return
    const current = new pg.Client({
      connectionString: url,
      application_name: 'bailiwick-relay',
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
    current.on('error', again).on('end', again).on('notification', ring)
    // What was written while nobody listened rings, too.
    current
      .connect()
      .then(() => current.query('listen outbox'))
      .then(ring, again)
  }
  listen()
  return {
    async rung(timeout) {
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
      ring()
      client?.end().catch(() => undefined)
    },
  }
}
