import { ApiError } from '../errors.ts'

/** So many uses of one key in a window of so many seconds. */
export interface Limit {
  points: number
  seconds: number
}

/** One use of a limit, by whom or against what. */
export interface Use<Name extends string = string> {
  limit: Name
  key: string
}

/** The limits of RATE_LIMIT_ENABLED. Windows are fixed and run by the wall clock, not by `deps.clock`. */
export interface Limiters<Name extends string = string> {
  /** Counts one use of every limit named, or none: throws 429 `throttled` where one is spent. */
  take(uses: readonly Use<Name>[]): Promise<void>
  /** Uncounts what {@link take} counted. */
  giveBack(uses: readonly Use<Name>[]): Promise<void>
  close(): void
}

/** Does what uses limits; it counts for nothing where it throws. 429 `throttled` where one is spent. */
export async function spending<Name extends string, T>(
  limiters: Limiters<Name>,
  uses: readonly Use<Name>[],
  work: () => Promise<T>,
): Promise<T> {
  await limiters.take(uses)
  try {
    return await work()
  } catch (error) {
    await limiters.giveBack(uses)
    throw error
  }
}

/** 429 with the headers of draft-ietf-httpapi-ratelimit-headers; `ms` until the window ends. */
export function throttled(name: string, { points, seconds }: Limit, ms: number): ApiError {
  const wait = Math.max(1, Math.ceil(ms / 1000))
  return new ApiError(429, 'throttled', `Too many requests. Try again in ${wait} s.`, {
    headers: {
      'RateLimit-Policy': `"${name}";q=${points};w=${seconds}`,
      RateLimit: `"${name}";r=0;t=${wait}`,
      'Retry-After': String(wait),
    },
  })
}
