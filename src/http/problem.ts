import type { Context, Middleware } from 'koa'
import type { Logger } from 'pino'
import { foreignKeyViolation } from '../database/executor/database-errors.ts'
import { isDatabaseUnavailable, sqlState } from '../database/executor/transaction.ts'
import { ApiError, overtaken, unavailable } from '../errors.ts'
import { AuthorizationUnavailable } from '../policy-engine/evaluate/engine.ts'

const titles: Record<number, string> = {
  400: 'Bad request',
  401: 'Not authenticated',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  406: 'Not acceptable',
  408: 'Request timeout',
  409: 'Conflict',
  410: 'Gone',
  412: 'Precondition failed',
  413: 'Payload too large',
  414: 'URI too long',
  415: 'Unsupported media type',
  422: 'Unprocessable content',
  429: 'Too many requests',
  431: 'Headers too large',
  500: 'Internal error',
  503: 'Unavailable',
}

const reserved = new Set([
  'type',
  'title',
  'status',
  'detail',
  'code',
  'instance',
  'errors',
  'reasons',
  'decision_id',
])

/** The body of every error: RFC 9457, and for Django REST framework clients arrays named like the fields. */
export function problemBody(error: ApiError, requestId: string): Record<string, unknown> {
  // No prototype, because a field can be named constructor.
  const byField: Record<string, string[]> = Object.create(null)
  for (const { field, detail } of error.errors)
    if (field && !reserved.has(field)) byField[field] = [...(byField[field] ?? []), detail]
  return {
    ...byField,
    type: `urn:bailiwick:error:${error.code}`,
    title: titles[error.status] ?? 'Error',
    status: error.status,
    detail: error.message,
    code: error.code,
    instance: requestId,
    ...(error.errors.length > 0 && { errors: error.errors }),
    ...error.members,
  }
}

/** Refusals because of too much load are no failures: the line of the request has their code. */
const refusals = new Set(['overloaded', 'too_costly'])

/** Answers every error thrown below it, in one form. Details that clients must not see go to the log only. */
export function answerErrors(
  log: Logger,
  answer: (ctx: Context, error: ApiError) => void = answerProblem,
): Middleware {
  return async (ctx, next) => {
    try {
      await next()
    } catch (thrown) {
      const error = asApiError(thrown)
      ctx.state.error = error
      if (error.status >= 500 && !refusals.has(error.code))
        log.error(
          { err: error.cause ?? thrown, request_id: ctx.state.requestInfo?.requestId, code: error.code },
          error.message,
        )
      answer(ctx, error)
    }
  }
}

function answerProblem(ctx: Context, error: ApiError) {
  ctx.status = error.status
  ctx.set({ ...error.headers, 'Cache-Control': 'no-store' })
  ctx.body = JSON.stringify(problemBody(error, ctx.state.requestInfo?.requestId ?? ''))
  const accept = ctx.get('accept')
  const plain = /\bapplication\/json\b/i.test(accept) && !/\bapplication\/problem\+json\b/i.test(accept)
  ctx.type = plain ? 'application/json; charset=utf-8' : 'application/problem+json; charset=utf-8'
}

export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown
  if (thrown instanceof AuthorizationUnavailable)
    return unavailable(
      'authorization_unavailable',
      'The request could not be decided, so it was refused. Try again.',
      1,
      thrown,
    )
  if (isDatabaseUnavailable(thrown))
    return unavailable(
      'dependency_unavailable',
      'A server that this service depends on is unavailable. Try again in a moment.',
      2,
      thrown,
    )
  // A foreign key: an object that the call refers to was deleted meanwhile, such as an erased user, or a person who joins changed.
  if (sqlState(thrown) === foreignKeyViolation) return overtaken(thrown)
  return new ApiError(
    500,
    'internal_error',
    'The service has failed. The error was logged under this instance.',
    {
      cause: thrown,
    },
  )
}
