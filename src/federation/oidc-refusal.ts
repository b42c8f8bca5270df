import { UpstreamError } from './upstream.ts'

/** Why an answer of a provider does not count. */
export function refusalFor(error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error
  const { error: said, cause } = error as { error?: unknown; cause?: unknown }
  if (cause instanceof UpstreamError) return cause
  if (said === 'access_denied')
    return new UpstreamError('denied', 'The provider says: access_denied.', { cause: error })
  return new UpstreamError('refused', `The answer of the provider was refused: ${reasonOf(error)}`, {
    cause: error,
  })
}

/** What an administrator can act on: the words of the provider, else those of the check. */
export function reasonOf(error: unknown): string {
  const {
    error: code,
    error_description: description,
    cause,
    message,
    status,
  } = error as Record<string, unknown>
  // The browser brought the answer, so everyone can write the description.
  if (cause instanceof URLSearchParams)
    return /^\w{1,50}$/.test(String(code)) ? String(code) : 'it has no code of an error.'
  if (code) return [code, description].filter(Boolean).join(': ')
  if (status === 401) return 'it does not accept the client_id and client_secret (401).'
  const { claim, claims, expected } = ((cause as Error | undefined)?.cause ?? {}) as Record<string, unknown>
  if (typeof claim === 'string' && expected !== undefined) {
    const had = (claims as Record<string, unknown>)[claim]
    return `the ID token has the ${claim} ${JSON.stringify(had)}, and this connection ${JSON.stringify(expected)}.`
  }
  const inner = cause instanceof Error ? cause.message : undefined
  return [message, inner].filter(Boolean).join(': ')
}
