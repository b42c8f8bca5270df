import * as oidc from 'openid-client'

/** Why a sign-in failed: `code` is for programs, the message for people. */
export class SignInFailed extends Error {
  readonly code: string
  readonly status: number

  constructor(code: string, message: string, status = 400, cause?: unknown) {
    super(message, { cause })
    this.name = 'SignInFailed'
    this.code = code
    this.status = status
  }
}

/** What an error of a step means for the person. Texts of the answer stay out: others can write them into an address. */
export function failureOf(error: unknown): SignInFailed {
  if (error instanceof SignInFailed) return error
  const failed = (code: string, message: string, status?: number) =>
    new SignInFailed(code, message, status, error)
  if (error instanceof oidc.AuthorizationResponseError) {
    const code = /^[a-z_]{1,60}$/.test(error.error) ? error.error : 'invalid_request'
    if (code === 'access_denied') return failed(code, 'You were not allowed in, or you declined.', 403)
    if (/^(server_error|temporarily_unavailable)$/.test(code)) return failed('unavailable', unavailable, 503)
    return failed(code, 'The identity service could not sign you in.')
  }
  const refused = refusalIn(error)
  if (refused === 'invalid_grant') return failed(refused, 'This sign-in is over.')
  if (refused) return failed(refused, 'The identity service does not accept this application.', 500)
  if (error instanceof oidc.ClientError && !/TIMEOUT|RESPONSE_IS_NOT/.test(error.code ?? ''))
    return failed('invalid_response', 'The answer of the identity service is not valid.')
  return failed('unavailable', unavailable, 503)
}

/** The code by which the service refuses tokens; null for an error that says nothing about the request. */
export function refusalIn(error: unknown): string | null {
  if (error instanceof oidc.WWWAuthenticateChallengeError) return 'invalid_client'
  const isRefusal = error instanceof oidc.ResponseBodyError && error.status < 500 && error.status !== 429
  return isRefusal ? error.error : null
}

const unavailable = 'The identity service does not answer. Try again in a moment.'

/** A page that says what happened, and leads to another try. */
export const failurePage = ({ code, message }: SignInFailed, again: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Not signed in</title><h1>You are not signed in</h1><p>${message}</p><p><code>${code}</code></p>
<p><a href="${again}">Try again</a></p></html>
`
