import type { Context } from 'koa'
import { tokenNotValid, unauthorized } from '../errors.ts'

/** What the Authorization header presents. */
export interface PresentedToken {
  token: string
  /** Sent as `DPoP`, with a proof (RFC 9449 §7.1), and not as `Bearer` (RFC 6750 §2.1). */
  isProven: boolean
}

/** The token of the Authorization header; the scheme in any case. Throws 401. */
export function presentedToken(http: Context): PresentedToken {
  const [, scheme = '', token] =
    /^(bearer|dpop) +([\w.~+/=-]+)$/i.exec(http.get('authorization').trim()) ?? []
  if (token) return { token, isProven: scheme.toLowerCase() === 'dpop' }
  throw http.get('authorization') === ''
    ? unauthorized('not_authenticated', 'Send an access token: Authorization: Bearer <token>.')
    : tokenNotValid('The Authorization header must be: Bearer <token>.')
}

/** The token of `Authorization: Bearer`. Throws 401. */
export function bearerToken(http: Context): string {
  const { token, isProven } = presentedToken(http)
  if (isProven) throw tokenNotValid('The Authorization header must be: Bearer <token>.')
  return token
}
