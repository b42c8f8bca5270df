import type { TokenPair } from './api-types.ts'
import { isProblem, Problem } from './problem.ts'
import { exchange } from './transport.ts'

/** What authenticates the calls of a client. */
export interface Credentials {
  token(): string | Promise<string>
  /** Called when the service refused the token `used` as not valid. `refresh` exchanges a refresh token for a pair. */
  renew?(used: string, refresh: Refresh): Promise<void>
  /** Called with the same function when a client is made with these credentials. */
  attach?(refresh: Refresh): void
}

type Refresh = (refreshToken: string) => Promise<TokenPair>

/** An access token, or an API key, as it is. */
export const bearer = (token: string): Credentials => ({ token: () => token })

export interface FreshPair extends Credentials {
  token(): string
  readonly pair: TokenPair
  /**
   * The access token, valid for `seconds` more (30 if absent): it refreshes the pair first if need be. A client with these
   * credentials has to exist. Rejects like a call, with `Problem` 401 when the session has ended.
   */
  fresh(seconds?: number): Promise<string>
  /** Takes another pair, such as that of a switch to another tenant. */
  replace(pair: TokenPair): Promise<void>
}

/**
 * Keeps a pair fresh. A refresh token works once, so calls that need a new pair at the same time share one refresh.
 * `save` stores each new pair before it is used; if it fails, so does the call.
 */
export function keepFresh(first: TokenPair, save: (pair: TokenPair) => unknown = () => undefined): FreshPair {
  let pair = first
  let renewing: Promise<void> | undefined
  let attached: Refresh | undefined
  const renewed = async (refresh: Refresh) => {
    const before = pair
    const next = await refresh(before.refresh)
    // The pair was replaced meanwhile, by one that is newer.
    if (pair !== before) return
    await save(next)
    pair = next
  }
  const renew = async (used: string, refresh: Refresh) => {
    if (pair.access !== used) return
    renewing ??= renewed(refresh).finally(() => {
      renewing = undefined
    })
    await renewing
  }
  return {
    get pair() {
      return pair
    },
    token: () => pair.access,
    async replace(next) {
      await save(next)
      pair = next
    },
    renew,
    attach(refresh) {
      attached = refresh
    },
    async fresh(seconds = 30) {
      const { access } = pair
      if (expiryOf(access) - seconds > Date.now() / 1000) return access
      if (!attached)
        throw new Error('Make a client with these credentials first: createClient({ url, credentials })')
      await renew(access, attached)
      return pair.access
    },
  }
}

/** When a token expires, in seconds since 1970; 0 for a text that is no token. */
function expiryOf(token: string): number {
  try {
    const { exp } = JSON.parse(atob((token.split('.')[1] ?? '').replace(/-/g, '+').replace(/_/g, '/')))
    return typeof exp === 'number' ? exp : 0
  } catch {
    return 0
  }
}

export interface ClientCredentialsOptions {
  /** Address of the service, with its path if it has one. */
  url: string
  /** Of an application of the kind `machine`. */
  clientId: string
  clientSecret: string
  /** Permissions, separated by spaces; all that the application has if absent. */
  scope?: string
  fetch?: typeof fetch
  /** For one request of a token, in ms; 5,000 if absent. */
  timeoutMs?: number
}

/** A token is renewed so long before it ends. */
const marginMs = 30_000

/**
 * Signs a machine in (RFC 6749 §4.4). Its token is kept until shortly before it ends, and calls that need a new one at the same time
 * share one request. A refusal makes the call reject with `Problem`, whose `code` is the error of OAuth, such as `invalid_client`.
 */
export function clientCredentials(options: ClientCredentialsOptions): Credentials {
  let known: { token: string; until: number } | undefined
  let asking: Promise<string> | undefined
  const ask = async () => {
    known = await tokenOf(options)
    return known.token
  }
  return {
    token() {
      if (known && known.until > Date.now()) return known.token
      asking ??= ask().finally(() => {
        asking = undefined
      })
      return asking
    },
    async renew(used) {
      if (known?.token === used) known = undefined
    },
  }
}

async function tokenOf({
  url,
  clientId,
  clientSecret,
  scope,
  fetch = globalThis.fetch,
  timeoutMs = 5_000,
}: ClientCredentialsOptions) {
  const fields = new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) })
  const request = {
    method: 'POST',
    target: '/oauth/token',
    token: null,
    headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
    body: new Blob([fields.toString()], { type: 'application/x-www-form-urlencoded' }),
    signal: undefined,
  }
  try {
    const { body } = await exchange({ url, fetch, timeoutMs }, request)
    const { access_token: token, expires_in: seconds } = body as { access_token: string; expires_in: number }
    return { token, until: Date.now() + seconds * 1000 - marginMs }
  } catch (error) {
    if (!isProblem(error) || typeof error.members.error !== 'string') throw error
    const { error: code, error_description: detail } = error.members
    throw new Problem(error.status, { ...error.members, code, detail }, error.retryAfter)
  }
}
