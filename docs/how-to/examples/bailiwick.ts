import { createRemoteJWKSet, jwtVerify } from 'jose'

// What an application needs of Bailiwick, in one file without anything but jose.

// #region setup
const base = process.env.BAILIWICK_URL ?? 'http://localhost:3000'
const issuer = process.env.BAILIWICK_ISSUER ?? base
const audience = process.env.BAILIWICK_AUDIENCE ?? 'bailiwick'

async function post<T>(path: string, body: unknown, token?: string): Promise<T> {
  const answer = await fetch(base + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(5_000),
  })
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as T
}
// #endregion

// #region verify
// Fetched once, kept, and fetched again when a token names a key that is not in it.
const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', base))

/** The claims of an access token; throws for any other token, and for one that has expired. */
export async function verifyAccessToken(token: string) {
  const { payload } = await jwtVerify(token, keys, {
    issuer,
    audience,
    typ: 'at+jwt',
    algorithms: ['ES256', 'EdDSA', 'RS256'],
  })
  return payload as typeof payload & { sub: string; sid: string; tenant_id: string; roles: string[] }
}
// #endregion

// #region session
export interface TokenPair {
  access: string
  refresh: string
}

/** Keeps a pair fresh. A refresh token works once, so calls that need a new one at the same time share one refresh. */
export function keepFresh(first: TokenPair) {
  let pair = first
  let refreshing: Promise<TokenPair> | undefined
  const refresh = () => {
    refreshing ??= post<TokenPair>('/api/v1/auth/refresh/', { refresh: pair.refresh })
      .then((next) => {
        pair = next
        return next
      })
      .finally(() => {
        refreshing = undefined
      })
    return refreshing
  }
  return {
    /** Calls `path` with the access token, and once more with a new one after a 401. */
    async call(path: string, init: RequestInit = {}): Promise<Response> {
      const send = () =>
        fetch(base + path, { ...init, headers: { ...init.headers, authorization: `Bearer ${pair.access}` } })
      const answer = await send()
      if (answer.status !== 401) return answer
      await refresh()
      return send()
    },
    /** From now on in another tenant of the person. */
    async switchTenant(tenantId: string): Promise<void> {
      const body = { tenant_id: tenantId, refresh: pair.refresh }
      pair = await post<TokenPair>('/api/v1/auth/switch-tenant/', body, pair.access)
    },
  }
}
// #endregion

// #region evaluate
/** Whether the member whose access token this is may do `action` on `resource`. No valid token, or no answer, means no. */
export async function isAllowed(
  accessToken: string,
  action: string,
  resource: { type: string; id: string; properties?: Record<string, unknown> },
): Promise<boolean> {
  try {
    const { sub } = await verifyAccessToken(accessToken)
    const question = { subject: { type: 'user', id: sub }, action: { name: action }, resource }
    const answer = await post<{ decision: boolean; context: { approval_request?: unknown } }>(
      '/access/v1/evaluation',
      question,
      accessToken,
    )
    // An approval has to be consumed before it permits anything.
    return answer.decision === true && answer.context.approval_request === undefined
  } catch {
    return false
  }
}
// #endregion
