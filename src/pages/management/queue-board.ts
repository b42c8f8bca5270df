import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import type { Queue } from 'bullmq'
import Koa, { type Middleware } from 'koa'
import type { Logger } from 'pino'
import { ApiError, notFound, unavailable } from '../../errors.ts'
import { securityHeaders } from '../../http/headers.ts'
import { answerErrors } from '../../http/problem.ts'
import { logUnanswered } from '../../http/request-log.ts'
import { operatorLogin } from './operator-login.ts'

// Bull Board's page has inline styles. It also asks another host for a font that it does not need: this policy blocks it.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
  "connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"

interface Board {
  /** The start of the path of every request that the board gets. */
  path: string
  password: string
  /** Called at the first request after a login; if it rejects, again at the next request. */
  listQueues: () => Promise<Queue[]>
  clock: () => number
  log: Logger
}

/** Bull Board for operators who log in. It is read-only. */
export function queueBoard({ path, password, listQueues, clock, log }: Board): RequestListener {
  const app = new Koa()
  app.on('error', logUnanswered(log))
  app.use(identify)
  app.use(securityHeaders(false))
  app.use(answerErrors(log))
  app.use(operatorLogin({ password, path, clock, log }))
  app.use(readOnly)
  app.use(hideForeignErrors)
  app.use(openedOnce(path, listQueues))
  return app.callback()
}

const identify: Middleware = async (ctx, next) => {
  ctx.state.requestInfo = { requestId: randomUUID() }
  ctx.set('X-Request-Id', ctx.state.requestInfo.requestId)
  await next()
}

// Bull Board itself refuses changes to read-only queues in each route; this check does not depend on that.
const readOnly: Middleware = async (ctx, next) => {
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD')
    throw new ApiError(405, 'method_not_allowed', 'The board is read-only: it answers GET, HEAD.', {
      headers: { Allow: 'GET, HEAD' },
    })
  ctx.set('Content-Security-Policy', policy)
  await next()
}

// Bull Board answers with the message of the error, which can contain anything. It goes only to the log.
const hideForeignErrors: Middleware = async (_ctx, next) => {
  await next().catch((error) => {
    if (error instanceof ApiError) throw error
    if ((error.status ?? error.statusCode) < 500) throw notFound()
    const message = 'The queues cannot be read now. Try again in a moment.'
    throw unavailable('dependency_unavailable', message, 2, error)
  })
}

function openedOnce(path: string, listQueues: () => Promise<Queue[]>): Middleware {
  let opening: Promise<Middleware> | undefined
  return async (ctx, next) => {
    opening ??= open(path, listQueues).catch((error) => {
      opening = undefined
      throw error
    })
    await (await opening)(ctx, next)
  }
}

/** Loads Bull Board at the first request, because it has seventy packages. */
async function open(path: string, listQueues: () => Promise<Queue[]>): Promise<Middleware> {
  const [{ createBullBoard }, { BullMQAdapter }, { KoaAdapter }] = await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/api/bullMQAdapter'),
    import('@bull-board/koa'),
  ])
  const serverAdapter = new KoaAdapter().setBasePath(path)
  const queues = (await listQueues()).map(
    (queue) => new BullMQAdapter(queue as never, { readOnlyMode: true }),
  )
  createBullBoard({ queues, serverAdapter, options: { uiConfig: { boardTitle: 'Bailiwick queues' } } })
  serverAdapter.setErrorHandler((error) => {
    throw error
  })
  return serverAdapter.registerPlugin() as unknown as Middleware
}
