import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Deps } from '../deps.ts'
import { answerBrokenRequests } from '../http/broken-requests.ts'
import { gracefulClose } from '../http/graceful-close.ts'
import { isTaken, listenOn, listenOnInherited, portTaken, urlOf } from '../http/listen.ts'
import { newServer } from '../http/new-server.ts'
import { warnOfUnusedDevices } from '../identity/otp/warn-unused-devices.ts'
import { createReadiness, readySample } from '../pages/health.ts'
import { openManagementPort } from '../pages/management-port.ts'
import type { Config } from '../settings/config.ts'
import { browserUrl } from '../settings/loopback.ts'
import { buildApp } from './app.ts'
import { openDeps, type SuppliedDeps } from './open-deps.ts'

/** The API, listening. */
export interface Serving {
  url: string
  /** URL of MANAGEMENT_PORT; undefined when that is not set. */
  managementUrl: string | undefined
  deps: Deps
  /**
   * Answers 503 at `/readyz` but serves other requests for SHUTDOWN_DELAY_SECONDS. Then it takes no more requests,
   * waits for those in flight (25 s at most), and closes what it opened.
   */
  stop(): Promise<void>
}

interface Hooks {
  afterListening?: (server: Server) => void
}

// With this header size a target that is too long reaches the service, which answers 414 instead of Node's 431. The
// service also refuses a missing Host itself, with a body like that of other errors.
const limits = { maxHeaderSize: 65_536, requireHostHeader: false }
const defaultPort = 3000

/** Opens everything, then listens, then calls `afterListening`. */
export async function serveApi(
  config: Config,
  log: Logger,
  { afterListening, ...supplied }: SuppliedDeps & Hooks = {},
): Promise<Serving> {
  let url = ''
  const publicUrl = () => config.PUBLIC_URL ?? (url && browserUrl(url))
  const deps = await openDeps({ config, log, publicUrl, ...supplied })
  try {
    await warnOfUnusedDevices(deps)
    const readiness = createReadiness(deps.db, deps.clock)
    const server = newServer(config, limits, buildApp(deps, readiness).callback())
    answerBrokenRequests(server)
    const leaving = gracefulClose(server)
    // Longer than a load balancer's idle timeout: otherwise we could close a connection while it sends a request.
    server.keepAliveTimeout = 65_000
    server.headersTimeout = 66_000
    server.requestTimeout = 30_000
    url = await listen(server, config)
    afterListening?.(server)
    deps.metrics.source('readiness', readySample(readiness))
    const management = await openManagementPort(config, { ...deps, readiness }).catch(async (error) => {
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

/** Listens on the inherited socket, else on PORT, else on 3000 or, in development, the next free port. Gives the base URL. */
async function listen(server: Server, { HOST, PORT, listenFd, production }: Config): Promise<string> {
  if (listenFd !== undefined) {
    await listenOnInherited(server, listenFd)
    return urlOf(server, HOST)
  }
  for (let port = PORT ?? defaultPort; ; port++) {
    try {
      await listenOn(server, HOST, port)
      break
    } catch (error) {
      if (!isTaken(error) || port === 65_535) throw error
      // In production a load balancer knows the port: a process on another port would receive no requests.
      if (PORT !== undefined || production) throw portTaken('PORT', HOST, port)
    }
  }
  return urlOf(server, HOST)
}
