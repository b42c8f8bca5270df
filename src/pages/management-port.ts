import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { Certificate } from '../crypto/certificate.ts'
import { ApiError, notFound } from '../errors.ts'
import { connectionCutter } from '../http/graceful-close.ts'
import { isTaken, listenOn, portTaken, urlOf } from '../http/listen.ts'
import { newServer } from '../http/new-server.ts'
import { problemBody } from '../http/problem.ts'
import { type Metrics, textFormat } from '../observe/metrics/metrics.ts'
import type { Readiness } from './health.ts'

interface Settings extends Certificate {
  HOST: string
  MANAGEMENT_PORT: number | undefined
  production: boolean
}

interface Sources {
  metrics: Metrics
  readiness: Readiness
  log: Logger
}

/** The port for operators: metrics and health without a token. It must not be reachable from outside. */
export interface ManagementPort {
  /** Undefined if the port is off. */
  url: string | undefined
  close(): Promise<void>
}

const none: ManagementPort = { url: undefined, close: async () => undefined }

/**
 * Serves `/metrics`, `/healthz` and `/readyz` on MANAGEMENT_PORT of HOST. Without MANAGEMENT_PORT it serves nothing.
 * Rejects if the port is taken.
 */
export async function openManagementPort(settings: Settings, sources: Sources): Promise<ManagementPort> {
  const { HOST, MANAGEMENT_PORT: port, production } = settings
  const { metrics, readiness, log } = sources
  if (port === undefined) {
    if (production) log.info('MANAGEMENT_PORT is not set: this process serves no metrics')
    return none
  }
  const answers = answersOf(metrics, readiness)
  const server = newServer(
    settings,
    { maxHeaderSize: 16_384, requestTimeout: 10_000 },
    (request, response) => {
      const path = (request.url ?? '').split('?')[0]?.replace(/(?<=.)\/$/, '') ?? ''
      const answer = answers.get(path)
      const sent = answer ? (isRead(request.method) ? answer() : refuse(notAllowed())) : refuse(notFound())
      sent.catch(refuse).then((answer) => send(response, answer))
    },
  )
  const cutOff = connectionCutter(server)
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
        cutOff()
      }),
  }
}

interface Answer {
  status: number
  type: string
  body: string
  headers?: Record<string, string>
}

const json = (status: number, body: object, type = 'application/json'): Answer => ({
  status,
  type: `${type}; charset=utf-8`,
  body: JSON.stringify(body),
})

const answersOf = (metrics: Metrics, readiness: Readiness) =>
  new Map<string, () => Promise<Answer>>([
    ['/metrics', async () => ({ status: 200, type: textFormat, body: await metrics.scrape() })],
    ['/healthz', async () => json(200, { status: 'ok' })],
    ['/readyz', () => readiness.ready().then(() => json(200, { status: 'ready' }))],
  ])

const isRead = (method: string | undefined) => method === 'GET' || method === 'HEAD'

const notAllowed = () =>
  new ApiError(405, 'method_not_allowed', 'This address answers GET, HEAD.', {
    headers: { Allow: 'GET, HEAD' },
  })

/** An ApiError becomes the answer, such as the reason why the process is not ready. Other errors stay hidden: 500. */
async function refuse(thrown: unknown): Promise<Answer> {
  const error =
    thrown instanceof ApiError ? thrown : new ApiError(500, 'internal_error', 'An internal error occurred.')
  const answer = json(error.status, problemBody(error, randomUUID()), 'application/problem+json')
  return { ...answer, headers: error.headers }
}

function send(response: ServerResponse, { status, type, body, headers }: Answer) {
  response.writeHead(status, {
    ...headers,
    'Content-Type': type,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  response.end(body)
}
