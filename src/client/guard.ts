import type { Question } from './authorize.ts'
import type { Client } from './client.ts'
import { bearer } from './credentials.ts'
import { type AccessClaims, TokenNotValid, type VerifyToken } from './verify-token.ts'

/** What a request of your application does to which object: `{ action: 'note:read', resource: { type: 'note', id } }`. */
export interface Access {
  action: string
  resource: Question['resource']
}

/** The answer to a request that is not let in: a problem document (RFC 9457). */
export interface Refusal {
  status: 401 | 403 | 503
  headers: Record<string, string>
  body: string
}

/**
 * Judges a request by its `Authorization` header: the token must be valid and, where `accessOf` names an access, the
 * service must allow it to the person now. Refuses when it cannot tell.
 */
export type Guard = (
  authorization: string | null | undefined,
  accessOf?: (caller: AccessClaims) => Access | undefined | Promise<Access | undefined>,
) => Promise<{ caller: AccessClaims } | { refusal: Refusal }>

/**
 * Makes a guard, for one of the middlewares. `deadlineMs`: how long a decision may take, 1,000 if absent. It refuses a
 * token with `act`, of a member who acts as another one, unless `allowImpersonation` is true.
 */
export function createGuard({
  client,
  verify,
  deadlineMs = 1_000,
  allowImpersonation = false,
}: {
  client: Client
  verify: VerifyToken
  deadlineMs?: number
  allowImpersonation?: boolean
}): Guard {
  return async (authorization, accessOf) => {
    const [, token] = /^bearer +([\w.~+/=-]+)$/i.exec(authorization?.trim() ?? '') ?? []
    if (!token) return { refusal: notAuthenticated('Send an access token: Authorization: Bearer <token>.') }
    const caller = await verify(token).catch((error: unknown) => error)
    if (caller instanceof TokenNotValid)
      return { refusal: notAuthenticated(caller.message, ' error="invalid_token"') }
    if (caller instanceof Error)
      return { refusal: refusalOf(503, 'unavailable', 'Your token could not be checked. Try again.') }

    const known = caller as AccessClaims
    if (known.act && !allowImpersonation) return { refusal: impersonated() }
    const access = await accessOf?.(known)
    if (!access) return { caller: known }
    const question = {
      subject: { type: 'user', id: known.sub },
      action: { name: access.action },
      resource: access.resource,
    }
    // With the token of the caller: the service notices a session that has ended, and answers about no other person.
    const isAllowed = await client.as(bearer(token)).authorize(question, { deadlineMs })
    return isAllowed
      ? { caller: known }
      : { refusal: refusalOf(403, 'permission_denied', 'You are not permitted to do this.') }
  }
}

const notAuthenticated = (detail: string, challenge = '') =>
  refusalOf(401, 'not_authenticated', detail, { 'www-authenticate': `Bearer${challenge}` })

const impersonated = () =>
  refusalOf(
    403,
    'impersonation_not_allowed',
    'This application does not accept the token of a member who acts as another one.',
  )

const titles = { 401: 'Not authenticated', 403: 'Forbidden', 503: 'Unavailable' }

const refusalOf = (
  status: Refusal['status'],
  code: string,
  detail: string,
  headers: Record<string, string> = {},
): Refusal => ({
  status,
  headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', ...headers },
  body: JSON.stringify({ type: `urn:bailiwick:error:${code}`, title: titles[status], status, code, detail }),
})
