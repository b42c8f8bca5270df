import type { Context } from 'koa'
import { tokenNotValid, unauthorized } from '../errors.ts'

/** The token of the Authorization header (RFC 6750 §2.1; the scheme in any case). Throws 401. */
export function bearerToken(http: Context): string {
  const [, token] = /^bearer +([\w.~+/=-]+)$/i.exec(http.get('authorization').trim()) ?? []
  if (token) return token
  throw http.get('authorization') === ''
    ? unauthorized('not_authenticated', 'Send an access token: Authorization: Bearer <token>.')
    : tokenNotValid('The Authorization header must be: Bearer <token>.')
}
