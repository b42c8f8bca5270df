import type { TokenPair } from './api-types.ts'

/** What authenticates the calls of a client. */
export interface Credentials {
  token(): string
  /** Called when the service refused the token `used` as not valid. `refresh` exchanges a refresh token for a pair. */
  renew?(used: string, refresh: (refreshToken: string) => Promise<TokenPair>): Promise<void>
}

/** An access token, or an API key, as it is. */
export const bearer = (token: string): Credentials => ({ token: () => token })

export interface FreshPair extends Credentials {
  readonly pair: TokenPair
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
  const renewed = async (refresh: (refreshToken: string) => Promise<TokenPair>) => {
    const before = pair
    const next = await refresh(before.refresh)
    // The pair was replaced meanwhile, by one that is newer.
    if (pair !== before) return
    await save(next)
    pair = next
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
    async renew(used, refresh) {
      if (pair.access !== used) return
      renewing ??= renewed(refresh).finally(() => {
        renewing = undefined
      })
      await renewing
    },
  }
}
