import { decodeJwt, type JWTPayload } from 'jose'
import * as oidc from 'openid-client'
import { NoAnswer } from '../problem.ts'
import { refusalIn, SignInFailed } from './failures.ts'
import { maxCookieBytes, type Sealer } from './sealed-cookies.ts'
import type { SignInOptions } from './sign-in.ts'

/** Who is signed in. */
export interface Session {
  userId: string
  tenantId: string
  /** Those of the ID token, by the scopes: `email`, `name`, `roles`, `acr` and others. */
  claims: JWTPayload & { sub: string; tenant_id: string }
  /** s since 1970: when the service is asked again. */
  expiresAt: number
  /** A function, so that no one sends the token to a browser by mistake. */
  accessToken(): string
}

/** A session as its cookie has it. `id` is the ID token; `claims` are in its place where it would be too long. */
export interface Stored {
  id?: string
  claims?: Session['claims']
  access: string
  refresh?: string
  until: number
}

export const sessionSeconds = 30 * 86_400
/** Requests that a browser sent with the cookie of before a refresh share its result for this long. */
const sharedMs = 60_000
const seconds = () => Math.floor(Date.now() / 1000)

/** `early`: s before its time. */
export const isDue = ({ until }: Stored, early = 0) => until - early <= seconds()
const claimsOf = ({ id, claims }: Stored) => (id === undefined ? claims! : decodeJwt<Session['claims']>(id))

export function sessionOf(stored: Stored): Session {
  const claims = claimsOf(stored)
  return {
    userId: claims.sub,
    tenantId: claims.tenant_id,
    claims,
    expiresAt: stored.until,
    accessToken: () => stored.access,
  }
}

/** What to store of the tokens that the service answered; a refresh does not repeat all of them. */
export function storedOf(tokens: oidc.TokenEndpointResponse, life = Infinity, before?: Stored): Stored {
  const { access_token: access, expires_in = 60 } = tokens
  const refresh = tokens.refresh_token ?? before?.refresh
  return {
    ...(tokens.id_token ? { id: tokens.id_token } : before),
    access,
    ...(refresh && { refresh }),
    until: seconds() + Math.min(expires_in, life),
  }
}

/** The value of its cookie. Without the ID token, which is the first thing to leave out, a sign-out asks the person first. */
export async function sealSession({ seal }: Sealer, stored: Stored): Promise<string> {
  const { id: _, ...rest } = stored
  for (const form of [stored, { ...rest, claims: claimsOf(stored) }]) {
    const sealed = await seal('session', form, sessionSeconds)
    if (sealed.length <= maxCookieBytes) return sealed
  }
  throw new SignInFailed(
    'session_too_large',
    'Your session is too large for a cookie. This application has to ask for fewer scopes, such as groups.',
    500,
  )
}

/** Renews sessions by their refresh token, once for all requests that need it at the same time. */
export function refresher(
  configuration: () => Promise<oidc.Configuration>,
  { recheckSeconds: life, onError }: Pick<SignInOptions, 'recheckSeconds' | 'onError'>,
) {
  const running = new Map<string, { at: number; renewed: Promise<Stored> }>()

  const renew = (stored: Stored & { refresh: string }): Promise<Stored> => {
    for (const [token, { at }] of running) if (at < Date.now() - sharedMs) running.delete(token)
    const known = running.get(stored.refresh)
    if (known) return known.renewed
    const renewed = configuration()
      .then((config) => oidc.refreshTokenGrant(config, stored.refresh))
      .then((tokens) => storedOf(tokens, life, stored))
    running.set(stored.refresh, { at: Date.now(), renewed })
    renewed.catch(() => running.delete(stored.refresh))
    return renewed
  }

  /** Null if the session has ended. Throws `NoAnswer` if the service does not say. */
  return async (stored: Stored): Promise<Stored | null> => {
    if (!stored.refresh) return null
    try {
      const renewed = await renew({ ...stored, refresh: stored.refresh })
      return claimsOf(renewed).sub === claimsOf(stored).sub ? renewed : null
    } catch (error) {
      const refused = refusalIn(error)
      if (refused !== 'invalid_grant') onError?.(error)
      if (refused) return null
      throw new NoAnswer(error)
    }
  }
}
