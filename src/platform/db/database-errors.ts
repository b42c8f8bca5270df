import {
  BackendTerminatedError,
  BackendTerminatedUnexpectedlyError,
  ConnectionError,
  IdleTransactionTimeoutError,
  StatementCancelledError,
  StatementTimeoutError,
} from 'slonik'

/** SQLSTATE of a database error (or the code of its socket), also where slonik wrapped it; empty for anything else. */
export function sqlState(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const code = (error as { code?: unknown }).code ?? (error.cause as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : ''
}

// By class: slonik names every error of its own "Error".
const unavailable = [
  BackendTerminatedError,
  BackendTerminatedUnexpectedlyError,
  ConnectionError,
  IdleTransactionTimeoutError,
  StatementCancelledError,
  StatementTimeoutError,
]

/** True when Postgres is out of reach, shutting down or too slow: the request may be repeated later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (
    /^(08|53|57|55P03|25P03|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)/.test(sqlState(error)) ||
    unavailable.some((kind) => error instanceof kind) ||
    (error.cause instanceof Error && isDatabaseUnavailable(error.cause))
  )
}

const lateKinds = [IdleTransactionTimeoutError, StatementCancelledError, StatementTimeoutError]

/** True when Postgres is out of reach for everybody; false where one statement was too slow, or a row was locked. */
export function isDatabaseAway(error: unknown): boolean {
  const late = (cause: unknown): boolean =>
    lateKinds.some((kind) => cause instanceof kind) ||
    /^(57014|55P03|25P03)$/.test(sqlState(cause)) ||
    (cause instanceof Error && cause.cause !== undefined && late(cause.cause))
  return isDatabaseUnavailable(error) && !late(error)
}
