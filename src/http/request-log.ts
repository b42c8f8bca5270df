import type { Middleware } from 'koa'
import type { Logger } from 'pino'
import type { requestInfoReader } from './request-info.ts'

/** Sets each request's info and id, and logs one line when it is answered. */
export function logRequests(
  log: Logger,
  readRequestInfo: ReturnType<typeof requestInfoReader>,
  readable: boolean,
): Middleware {
  // The caller controls only path and address, so the line needs no redaction, which would cost more than the line.
  const lines = readable ? log : log.child({}, { redact: [] })
  return async (ctx, next) => {
    const begun = performance.now()
    ctx.state.requestInfo = readRequestInfo(ctx)
    ctx.set('X-Request-Id', ctx.state.requestInfo.requestId)
    await next()
    const ms = Math.round((performance.now() - begun) * 10) / 10
    if (readable)
      lines.info(
        `${ctx.method} ${ctx.path} ${ctx.status} ${ms} ms${ctx.state.error ? ` ${ctx.state.error.code}` : ''}`,
      )
    else
      lines.info(
        lineOf(ctx.state, { method: ctx.method, path: ctx.path, status: ctx.status, duration_ms: ms }),
        'request',
      )
  }
}

/**
 * Logs requests that Koa could not answer: the client left (the error has a code), or a bug above the error handler.
 */
export const logUnanswered = (log: Logger) => (error: NodeJS.ErrnoException) =>
  error.code
    ? log.debug({ code: error.code }, 'A request ended before its answer')
    : log.error({ err: error }, 'A request failed outside the error handler')

const lineOf = (
  state: Record<string, unknown> & { requestInfo?: { requestId: string; ip: string } },
  line: object,
) => ({
  ...line,
  request_id: state.requestInfo?.requestId,
  ip: state.requestInfo?.ip,
  action: state.action,
  user_id: state.userId,
  impersonator_id: state.impersonatorId,
  tenant_id: state.tenantId,
  decision_id: state.decisionId,
  code: (state.error as { code?: string } | undefined)?.code,
})
