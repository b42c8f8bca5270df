import type { FamilyRow } from '../sessions/family-store.ts'
import type { SessionRow } from '../sessions/store.ts'

/** What a chain of refresh tokens stands for. */
export interface Chain {
  /** The factors that were shown for it (RFC 8176). */
  amr: readonly string[]
  /** When a second factor was shown for it, in ms since 1970; null for `aal1`. */
  secondFactorAt: number | null
  /** Its absolute end, in ms since 1970: never after that of its session. */
  endsAt: number
}

/** The state of a chain. No chain, and one of an earlier release, are as their session was at its sign-in. */
export function chainOf(family: FamilyRow | null, session: SessionRow): Chain {
  const own = family !== null && family.amr !== null
  return {
    amr: family?.amr ?? session.amr,
    secondFactorAt: own ? family.second_factor_at : session.second_factor_at,
    endsAt: Math.min(family?.ends_at ?? session.expires_at, session.expires_at),
  }
}
