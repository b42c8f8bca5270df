import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Resolves once the server listens; rejects where it cannot, with the code of the system. */
export function listenOn(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Listens on a socket that another process opened and holds, by the number of its file descriptor. */
export function listenOnInherited(server: Server, fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new Error('The socket of LISTEN_FDS cannot be listened on', { cause })),
    )
    server.listen({ fd }, resolve)
  })
}

/** Whether a server could not listen because another one does. */
export const isTaken = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EADDRINUSE'

/** What an operator is told whose setting names a port that is taken. */
export const portTaken = (setting: string, host: string, port: number): Error =>
  new PortTaken(`Port ${port} of ${host} is taken. Set ${setting} to another, or stop what listens there.`)

/** The message is made for an operator. */
export class PortTaken extends Error {}

/** The base URL of a server that listens, as one on this machine calls it. */
export function urlOf(server: Server, listening: string): string {
  const any = listening === '0.0.0.0' || listening === '::'
  const host = any ? 'localhost' : listening.includes(':') ? `[${listening}]` : listening
  return `http://${host}:${(server.address() as AddressInfo).port}`
}
