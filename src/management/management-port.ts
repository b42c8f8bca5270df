import { randomUUID } from 'node:crypto'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { Queue } from 'bullmq'
import type { Logger } from 'pino'
import { ApiError, notFound } from '../platform/errors.ts'
import type { Readiness } from '../platform/http/health.ts'
import { isTaken, listenOn, portTaken, urlOf } from '../platform/http/listen.ts'
import { problemBody } from '../platform/http/problem.ts'
import { type Metrics, textFormat } from '../platform/metrics/metrics.ts'

interface Settings {
  HOST: string
  MANAGEMENT_PORT: number | undefined
  QUEUE_BOARD_PASSWORD: string | undefined
  production: boolean
}

interface Shown {
  metrics: Metrics
  readiness: Readiness
  log: Logger
  clock: () => number
  /** Given where this process may see the queues. */
  listQueues?: () => Promise<Queue[]>
}

/**
 * The port for those who run the service: metrics and health, without a token, and the queues for operators who log
 * in; not to be reached from outside.
 */
export interface ManagementPort {
  /** Undefined where there is none. */
  url: string | undefined
  close(): Promise<void>
}

const boardPath = '/queues'
const none: ManagementPort = { url: undefined, close: async () => undefined }

/**
 * Serves `/metrics`, `/healthz`, `/readyz` and, with QUEUE_BOARD_PASSWORD and queues, `/queues/` on MANAGEMENT_PORT of
 * HOST; without that setting, nothing. Rejects where the port is taken.
 */
export async function openManagementPort(settings: Settings, shown: Shown): Promise<ManagementPort> {
  const { HOST, MANAGEMENT_PORT: port, production } = settings
  const { metrics, readiness, log } = shown
  if (port === undefined) {
    if (settings.QUEUE_BOARD_PASSWORD && shown.listQueues)
      log.warn('QUEUE_BOARD_PASSWORD is set, but MANAGEMENT_PORT is not: there is no queue board')
    if (production) log.info('MANAGEMENT_PORT is not set: this process serves no metrics')
    return none
  }
  const answers = answersOf(metrics, readiness)
  const board = await boardOf(settings, shown)
  const server = createServer({ maxHeaderSize: 16_384, requestTimeout: 10_000 }, (request, response) => {
    const path = (request.url ?? '').split('?')[0]?.replace(/(?<=.)\/$/, '') ?? ''
    if (board && `${path}/`.startsWith(`${boardPath}/`)) return board(request, response)
    const answer = answers.get(path)
    const sent = answer ? (isRead(request.method) ? answer() : refuse(notAllowed())) : refuse(notFound())
    sent.catch(refuse).then((told) => send(response, told))
  })
  await listenOn(server, HOST, port).catch((error) => {
    throw isTaken(error) ? portTaken('MANAGEMENT_PORT', HOST, port) : error
  })
  const url = urlOf(server, HOST)
  log.info({ url }, `Metrics and health on ${url}${board ? `, the queue board on ${url}${boardPath}/` : ''}`)
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Loaded only where it is on. */
async function boardOf(
  { QUEUE_BOARD_PASSWORD: password }: Settings,
  { listQueues, clock, log }: Shown,
): Promise<RequestListener | undefined> {
  if (!password || !listQueues) return undefined
  const { queueBoard } = await import('./queue-board.ts')
  return queueBoard({ path: boardPath, password, listQueues, clock, log })
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
