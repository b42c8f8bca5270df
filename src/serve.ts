import { createServer, type Server, type ServerResponse } from 'node:http'
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
  /** Stops taking requests, lets those in flight end (25 s at most), closes what was opened. */
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
    const drained = drainOf(server)
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
      await drained()
      throw error
    })
    const stop = async () => {
      readiness.drain()
      await drained()
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

/**
 * Gives the drain of a server: idle connections close at once, busy ones after their answer, which says so, the rest
 * at the end of our patience.
 */
function drainOf(server: Server): () => Promise<void> {
  const answering = new Set<ServerResponse>()
  server.on('request', (_request, response) => {
    answering.add(response)
    response.once('close', () => answering.delete(response))
  })
  return () => {
    for (const response of answering) if (!response.headersSent) response.setHeader('Connection', 'close')
    const idle = setInterval(() => server.closeIdleConnections(), 100)
    const timer = setTimeout(() => server.closeAllConnections(), drainMs)
    return new Promise((resolve) => {
      server.close(() => {
        clearInterval(idle)
        clearTimeout(timer)
        resolve()
      })
    })
  }
}
