import type { Claims, Counted } from './caller.ts'

// What features supply to the path of a request, with approvals (change/approvals.ts) and policies (policies-in-force.ts).

/** Limits the calls of users and tenants, and of directories. */
export interface CallLimits {
  /** Throws 429 `throttled` when no calls are left. Does not count. */
  assertLeft(caller: Counted): void
  /** Counts a call and gives the headers with the remaining calls (none without limits). Throws 429 `throttled`. */
  count(caller: Counted): Record<string, string>
  /** Counts a use of a code or token by an application, or a request that it pushes. Throws 429 `throttled`. */
  countClient(clientId: string): void
}

/** Recognises API keys. */
export interface ApiKeys {
  /** Whether a text is meant as a key. */
  isKeyLike(text: string): boolean
  /** Whose key a text is; null for a text that is no key. Whether it still works, the auth context says. */
  claimsOf(text: string): Promise<Claims | null>
}
