import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import type { Queue } from 'bullmq'
import Koa, { type Middleware } from 'koa'
import type { Logger } from 'pino'
import { ApiError, notFound, unavailable } from '../platform/errors.ts'
import { securityHeaders } from '../platform/http/headers.ts'
import { answerErrors } from '../platform/http/problem.ts'
import { logUnanswered } from '../platform/http/request-log.ts'
import { operatorLogin } from './operator-login.ts'

// Its page has styles inside, and asks for a font elsewhere that it can do without: this keeps it from asking.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
  "connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"

interface Board {
  /** Begins the path of every request handed to it. */
  path: string
  password: string
  /** Asked once somebody has logged in; where it rejects, again by the next request. */
  listQueues: () => Promise<Queue[]>
  clock: () => number
  log: Logger
}

/** Bull Board for operators who log in, to look at: it changes nothing. */
export function queueBoard({ path, password, listQueues, clock, log }: Board): RequestListener {
  const app = new Koa()
  app.on('error', logUnanswered(log))
  app.use(identify)
  app.use(securityHeaders(false))
  app.use(answerErrors(log))
  app.use(operatorLogin({ password, path, clock, log }))
  app.use(readOnly)
  app.use(tellOwnFaults)
  app.use(openedOnce(path, listQueues))
  return app.callback()
}

const identify: Middleware = async (ctx, next) => {
  ctx.state.requestInfo = { requestId: randomUUID() }
  ctx.set('X-Request-Id', ctx.state.requestInfo.requestId)
  await next()
}

// Bull Board refuses changes to queues that are read-only, route by route; this does not depend on it.
const readOnly: Middleware = async (ctx, next) => {
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD')
    throw new ApiError(405, 'method_not_allowed', 'The board is to look at: it answers GET, HEAD.', {
      headers: { Allow: 'GET, HEAD' },
    })
  ctx.set('Content-Security-Policy', policy)
  await next()
}

// Bull Board answers in the words of what failed, which may hold anything; they are for the log.
const tellOwnFaults: Middleware = async (_ctx, next) => {
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

/** Loaded when it is first looked at: it brings seventy packages. */
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
