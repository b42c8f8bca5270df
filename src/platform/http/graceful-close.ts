import type { Server, ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'

const drainMs = 25_000

export interface GracefulClose {
  /** From now on each answer closes its connection, so that no proxy keeps a connection that will soon end. */
  begin(): void
  /** Stops accepting connections. Closes idle ones at once and busy ones after their answer, then resolves. */
  close(): Promise<void>
}

/** Closes a server without losing requests. Connections that are busy for more than 25 s are cut off. */
export function gracefulClose(server: Server): GracefulClose {
  const answering = new Set<ServerResponse>()
  let leaving = false
  const endConnection = (response: ServerResponse) => {
    if (!response.headersSent) response.setHeader('Connection', 'close')
  }
  server.on('request', (_request, response) => {
    if (leaving) endConnection(response)
    answering.add(response)
    response.once('close', () => answering.delete(response))
  })
  const begin = () => {
    leaving = true
    for (const response of answering) endConnection(response)
  }
  return {
    begin,
    async close() {
      begin()
      // When the last process closes a listening socket, the kernel resets connections that are not accepted yet. There
      // are fewest right after the event loop has accepted some. None are lost when systemd holds the socket, too.
      await setImmediate()
      const idle = setInterval(() => server.closeIdleConnections(), 100)
      const timer = setTimeout(() => server.closeAllConnections(), drainMs)
      await new Promise((resolve) => server.close(resolve))
      clearInterval(idle)
      clearTimeout(timer)
    },
  }
}
