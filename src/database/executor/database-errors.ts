/** SQLSTATEs of broken constraints (PostgreSQL documentation, appendix A). */
export const foreignKeyViolation = '23503'
export const uniqueViolation = '23505'
export const checkViolation = '23514'

/** The SQLSTATE of a database error (or its socket's code), also of its cause; empty for any other error. */
export function sqlState(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const code = (error as { code?: unknown }).code ?? (error.cause as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : ''
}

/** True when Postgres is unreachable, shutting down, a standby (25006) or too slow: the request can be repeated later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (
    /^(08|25006|53|57|55P03|25P03|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)/.test(sqlState(error)) ||
    (error.cause instanceof Error && isDatabaseUnavailable(error.cause))
  )
}

/**
 * True when Postgres is unreachable for all requests; false when one statement was too slow, a row was locked, or a cluster
 * lacks the node of one tenant.
 */
export function isDatabaseAway(error: unknown): boolean {
  const late = (cause: unknown): boolean =>
    /^(57014|55P03|25P03)$/.test(sqlState(cause)) ||
    isPartAway(cause) ||
    (cause instanceof Error && cause.cause !== undefined && late(cause.cause))
  return isDatabaseUnavailable(error) && !late(error)
}

/**
 * True when a part of the database is away, and with it some tenants: the coordinator of a cluster answers that it does not reach a node. What it
 * says is an error, and no end of the connection.
 */
export const isPartAway = (error: unknown): boolean =>
  /^08/.test(sqlState(error)) && (error as { severity?: string }).severity === 'ERROR'
