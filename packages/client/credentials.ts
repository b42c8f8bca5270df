import type { TokenPair } from './api-types.ts'

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
