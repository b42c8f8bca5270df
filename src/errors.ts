/** One entry of `errors[]` in an answer: the field as the client named it, a stable code, a sentence. */
export interface FieldError {
  field: string
  code: string
  detail: string
  /** JSON Pointer (RFC 6901) in the body. */
  pointer?: string
  /** Of an unknown name: the known one that was probably meant. */
  meant?: string | null
  /** In the body; both begin at 1. */
  line?: number
  column?: number
}

interface Extra {
  /** Members added to the body (RFC 9457 §3.2), such as `current_state` or `decision_id`. */
  members?: Record<string, unknown>
  headers?: Record<string, string>
  errors?: FieldError[]
  cause?: unknown
}

/**
 * The only error class of the service: `code` is for programs, `message` for people, `cause` for the log only. Features
 * define their own codes in the files that throw them.
 */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly members: Record<string, unknown>
  readonly headers: Record<string, string>
  readonly errors: FieldError[]

  constructor(status: number, code: string, message: string, extra: Extra = {}) {
    super(message, { cause: extra.cause })
    this.status = status
    this.code = code
    this.members = extra.members ?? {}
    this.headers = extra.headers ?? {}
    this.errors = extra.errors ?? []
  }
}

export const validationError = (...errors: FieldError[]) =>
  new ApiError(
    400,
    'validation_error',
    errors.map((e) => e.detail).join(' ') || 'The request is not valid.',
    { errors },
  )

/** 400 for one field: `detail` says what is wrong and how to correct it. */
export const invalidField = (field: string, detail: string, code = 'invalid') =>
  validationError({ field, code, detail })

export const notFound = (message = 'Not found, or not visible to you.') =>
  new ApiError(404, 'not_found', message)

/** 409: what a call refers to is not as it was when the call read it. */
export const overtaken = (cause?: unknown) =>
  new ApiError(
    409,
    'overtaken',
    'An object that this call refers to was just changed or deleted. Read it again.',
    { cause },
  )

/** RFC 6750 §3: every 401 names the scheme, and the error when a token was presented. */
export const unauthorized = (code: string, message: string, challenge = '') =>
  new ApiError(401, code, message, {
    headers: { 'WWW-Authenticate': `Bearer${challenge && ` ${challenge}`}` },
  })

export const tokenNotValid = (
  message = 'The token is not valid: it is malformed, expired, or of another kind.',
) => unauthorized('token_not_valid', message, 'error="invalid_token"')

/** 401 `token_not_valid` with the reason `expired`: `message` says how to get another one. */
export function tokenExpired(message: string): ApiError {
  const challenge = 'error="invalid_token", error_description="The token expired"'
  const error = unauthorized('token_not_valid', message, challenge)
  Object.assign(error.members, { reason: 'expired' })
  return error
}

/** 401: an API key past its time. */
export const keyExpired = () =>
  unauthorized('key_expired', 'This API key has expired. Create a new one.', 'error="invalid_token"')

export const sessionRevoked = () =>
  unauthorized('session_revoked', 'The session has ended. Sign in again.', 'error="invalid_token"')

/** 403: what a session by a connection cannot do. `url`: where the person signs in in another way. */
export const sessionConfined = (
  publicUrl: string,
  message = 'You signed in by an organisation, and this is beyond it. Sign in in another way.',
) => new ApiError(403, 'session_confined', message, { members: { url: `${publicUrl}/sign-in/address/` } })

/** 401: the members of a tenant sign in by its identity provider. `url`: where. */
export function ssoRequired(url: string): ApiError {
  const error = unauthorized('sso_required', 'This tenant has its members sign in by its identity provider.')
  Object.assign(error.members, { url })
  return error
}

/**
 * RFC 9470 §3: before it repeats the call, the client needs an authentication of this class that is at most `maxAge`
 * seconds old (null: of any age).
 */
export function insufficientAuthentication(acr: 'aal1' | 'aal2', maxAge: number | null, message: string) {
  const within = maxAge === null ? '' : `, max_age="${maxAge}"`
  const challenge = `error="insufficient_user_authentication", acr_values="${acr}"${within}`
  const error = unauthorized('insufficient_user_authentication', message, challenge)
  Object.assign(error.members, { acr_values: acr, ...(maxAge !== null && { max_age: maxAge }) })
  return error
}

/** 409: the current state of the object does not allow this change. */
export const invalidState = (message: string, currentState: string, more: Record<string, unknown> = {}) =>
  new ApiError(409, 'invalid_state', message, { members: { current_state: currentState, ...more } })

/** 409: an application's manifest gives every tenant this object, so a tenant cannot change it. `what` names it: a role. */
export const managedByApplication = (application: string, what: string) =>
  new ApiError(
    409,
    'managed',
    `The application ${application} gives every tenant this ${what}. A tenant cannot change or delete it.`,
    { members: { application } },
  )

/** 410: it existed, and was deleted at the end of its retention period. */
export const gone = (message: string, members: Record<string, unknown> = {}) =>
  new ApiError(410, 'gone', message, { members })

/** 503 with Retry-After (seconds): a dependency or the service itself cannot do the work now. */
export const unavailable = (code: string, message: string, retryAfter: number, cause?: unknown) =>
  new ApiError(503, code, message, { headers: { 'Retry-After': String(retryAfter) }, cause })
