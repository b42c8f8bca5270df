import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Server as TlsServer } from 'node:tls'

/** Resolves once the server listens. Rejects with the system's error code when it cannot. */
export function listenOn(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Listens on a socket that another process opened and passed as this file descriptor. */
export function listenOnInherited(server: Server, fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => reject(new Error('Cannot listen on the socket of LISTEN_FDS', { cause })))
    server.listen({ fd }, resolve)
  })
}

/** True when the port is in use. */
export const isTaken = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EADDRINUSE'

/** The error for an operator when the port of a setting is in use. */
export const portTaken = (setting: string, host: string, port: number): Error =>
  new PortTaken(
    `Port ${port} of ${host} is in use. Set ${setting} to another port, or stop the process that listens there.`,
  )

/** The message is for an operator. */
export class PortTaken extends Error {}

/** The base URL of a listening server, for clients on this machine. */
export function urlOf(server: Server, listening: string): string {
  const any = listening === '0.0.0.0' || listening === '::'
  const host = any ? 'localhost' : listening.includes(':') ? `[${listening}]` : listening
  return `${server instanceof TlsServer ? 'https' : 'http'}://${host}:${(server.address() as AddressInfo).port}`
}
