import { createServer, type Server, type ServerResponse } from 'node:http'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import type { Queue } from 'bullmq'
import type { Logger } from 'pino'
import { buildApp } from './app.ts'
import type { Config } from './config.ts'
import { type Deps, openDeps, type Parts } from './deps.ts'
import { warnOfSleepingDevices } from './identity/otp/warn-of-sleeping-devices.ts'
import { answerBrokenRequests } from './platform/http/broken-requests.ts'
import { createReadiness, readySample } from './platform/http/health.ts'
import { isTaken, listenOn, portTaken, urlOf } from './platform/http/listen.ts'
import { openManagementPort } from './platform/http/management-port.ts'

/** The API, listening. */
export interface Serving {
  url: string
  /** Of MANAGEMENT_PORT, where it is set. */
  managementUrl: string | undefined
  deps: Deps
  /**
   * Says no at `/readyz` and serves on for SHUTDOWN_DELAY_SECONDS, then takes no more requests, lets those in flight
   * end (25 s at most), and closes what was opened.
   */
  stop(): Promise<void>
}

const drainMs = 25_000
// Room to tell a target that is too long from headers that are; a missing Host is refused like everything else.
const limits = { maxHeaderSize: 65_536, requireHostHeader: false }
const defaultPort = 3000

/**
 * Opens everything, then listens: nobody is answered by half a service. `listQueues` is given where the process runs
 * the actors, too.
 */
export async function serveApi(
  config: Config,
  log: Logger,
  { listQueues, ...parts }: Parts & { listQueues?: () => Promise<Queue[]> } = {},
): Promise<Serving> {
  let url = ''
  const publicUrl = () => config.PUBLIC_URL ?? url
  const deps = await openDeps({ config, log, publicUrl, ...parts })
  try {
    await warnOfSleepingDevices(deps)
    const readiness = createReadiness(deps.db, deps.clock)
    const server = createServer(limits, buildApp(deps, readiness).callback())
    answerBrokenRequests(server)
    const leaving = leavingOf(server)
    // Longer than a load balancer's idle time, so that it is never we who close under a request.
    server.keepAliveTimeout = 65_000
    server.headersTimeout = 66_000
    server.requestTimeout = 30_000
    url = await listen(server, config)
    deps.metrics.source('readiness', readySample(readiness))
    const management = await openManagementPort(config, {
      ...deps,
      readiness,
      ...(listQueues && { listQueues }),
    }).catch(async (error) => {
      await leaving.close()
      throw error
    })
    const stop = async () => {
      readiness.drain()
      leaving.begin()
      await sleep(config.shutdownDelayMs)
      await leaving.close()
      await management.close()
      await deps.close()
    }
    return { url, managementUrl: management.url, deps, stop }
  } catch (error) {
    await deps.close()
    throw error
  }
}

/** PORT where it is given, else 3000 or the next one that is free. Gives the base URL. */
async function listen(server: Server, { HOST, PORT }: Config): Promise<string> {
  for (let port = PORT ?? defaultPort; ; port++) {
    try {
      await listenOn(server, HOST, port)
      break
    } catch (error) {
      if (!isTaken(error) || port === 65_535) throw error
      if (PORT !== undefined) throw portTaken('PORT', HOST, PORT)
    }
  }
  return urlOf(server, HOST)
}

interface Leaving {
  /** From now on each answer ends its connection, so that no proxy keeps one that is about to go. */
  begin(): void
  /** Takes no more connections; resolves once all are closed: idle ones at once, busy ones after their answer. */
  close(): Promise<void>
}

/** How a server goes without losing a request; what is busy longer than 25 s is cut off. */
function leavingOf(server: Server): Leaving {
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
      // The kernel resets connections that wait to be accepted when the listener closes. None do now: the event loop
      // accepts them all just before it comes here.
      await setImmediate()
      const idle = setInterval(() => server.closeIdleConnections(), 100)
      const timer = setTimeout(() => server.closeAllConnections(), drainMs)
      await new Promise((resolve) => server.close(resolve))
      clearInterval(idle)
      clearTimeout(timer)
    },
  }
}
