import type { Server, ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'

const drainMs = 25_000

export interface GracefulClose {
  /** From now on each answer ends its connection, so that no proxy keeps one that is about to go. */
  begin(): void
  /** Takes no more connections; resolves once all are closed: idle ones at once, busy ones after their answer. */
  close(): Promise<void>
}

/** How a server goes without losing a request; what is busy longer than 25 s is cut off. */
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
      // The kernel resets connections that wait to be accepted when the last holder of the listener closes it. Fewest
      // wait right after the event loop has accepted them; none are lost where systemd holds it, too.
      await setImmediate()
      const idle = setInterval(() => server.closeIdleConnections(), 100)
      const timer = setTimeout(() => server.closeAllConnections(), drainMs)
      await new Promise((resolve) => server.close(resolve))
      clearInterval(idle)
      clearTimeout(timer)
    },
  }
}
