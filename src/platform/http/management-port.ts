import { randomUUID } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { ApiError, notFound } from '../errors.ts'
import { type Metrics, textFormat } from '../metrics/metrics.ts'
import type { Readiness } from './health.ts'
import { isTaken, listenOn, portTaken, urlOf } from './listen.ts'
import { problemBody } from './problem.ts'

interface Settings {
  HOST: string
  MANAGEMENT_PORT: number | undefined
  production: boolean
}

/** The port for those who run the service: metrics and health, without a token; not to be reached from outside. */
export interface ManagementPort {
  /** Undefined where there is none. */
  url: string | undefined
  close(): Promise<void>
}

const none: ManagementPort = { url: undefined, close: async () => undefined }

/**
 * Serves `/metrics`, `/healthz` and `/readyz` on MANAGEMENT_PORT of HOST; without the setting, nothing. Rejects where
 * the port is taken.
 */
export async function openManagementPort(
  { HOST, MANAGEMENT_PORT: port, production }: Settings,
  { metrics, readiness, log }: { metrics: Metrics; readiness: Readiness; log: Logger },
): Promise<ManagementPort> {
  if (port === undefined) {
    if (production) log.info('MANAGEMENT_PORT is not set: this process serves no metrics')
    return none
  }
  const answers = answersOf(metrics, readiness)
  const server = createServer({ maxHeaderSize: 16_384, requestTimeout: 10_000 }, (request, response) => {
    const path = (request.url ?? '').split('?')[0]?.replace(/(?<=.)\/$/, '') ?? ''
    const answer = answers.get(path)
    const sent = answer ? (isRead(request.method) ? answer() : refuse(notAllowed())) : refuse(notFound())
    sent.catch(refuse).then((told) => send(response, told))
  })
  await listenOn(server, HOST, port).catch((error) => {
    throw isTaken(error) ? portTaken('MANAGEMENT_PORT', HOST, port) : error
  })
  const url = urlOf(server, HOST)
  log.info({ url }, `Metrics and health on ${url}`)
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

interface Told {
  status: number
  type: string
  body: string
  headers?: Record<string, string>
}

const json = (status: number, body: object, type = 'application/json'): Told => ({
  status,
  type: `${type}; charset=utf-8`,
  body: JSON.stringify(body),
})

const answersOf = (metrics: Metrics, readiness: Readiness) =>
  new Map<string, () => Promise<Told>>([
    ['/metrics', async () => ({ status: 200, type: textFormat, body: await metrics.scrape() })],
    ['/healthz', async () => json(200, { status: 'ok' })],
    ['/readyz', () => readiness.ready().then(() => json(200, { status: 'ready' }))],
  ])

const isRead = (method: string | undefined) => method === 'GET' || method === 'HEAD'

const notAllowed = () =>
  new ApiError(405, 'method_not_allowed', 'This address answers GET, HEAD.', {
    headers: { Allow: 'GET, HEAD' },
  })

/** Who is not ready says why in an error of ours; anything else stays inside. */
async function refuse(thrown: unknown): Promise<Told> {
  const error = thrown instanceof ApiError ? thrown : new ApiError(500, 'internal_error', 'This is a fault.')
  const told = json(error.status, problemBody(error, randomUUID()), 'application/problem+json')
  return { ...told, headers: error.headers }
}

function send(response: ServerResponse, { status, type, body, headers }: Told) {
  response.writeHead(status, {
    ...headers,
    'Content-Type': type,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  response.end(body)
}
