import type { Server, ServerResponse } from 'node:http'
import { type Socket, Server as TcpServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'

export interface GracefulClose {
  /** From now on each answer closes its connection, so that no proxy keeps a connection that will soon end. */
  begin(): void
  /** Stops accepting connections. Closes idle ones at once and busy ones after their answer, then resolves. */
  close(): Promise<void>
}

/** Closes a server without losing requests. Connections that are busy for more than `drainMs` are cut off. */
export function gracefulClose(server: Server, drainMs = 25_000): GracefulClose {
  const cutOff = connectionCutter(server)
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
      const timer = setTimeout(cutOff, drainMs)
      // server.close() would end idle connections before it stops listening: their clients could connect again, and be reset.
      const closed = new Promise((resolve) => TcpServer.prototype.close.call(server, resolve))
      server.closeIdleConnections()
      await closed
      clearInterval(idle)
      clearTimeout(timer)
    },
  }
}

/**
 * Gives a function that destroys all open connections of a server. Call it before the server listens.
 * `closeAllConnections()` leaves out those whose TLS handshake is not finished, and the server waits for them.
 */
export function connectionCutter(server: Server): () => void {
  const open = new Set<Socket>()
  server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return () => {
    for (const socket of open) socket.destroy()
  }
}
