import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { listMembershipsOf, type Membership } from '../../tenancy/members/store.ts'
import { type Factors, findFactors } from '../otp/store.ts'
import { type SessionsOfPerson, sessionsOfPerson } from '../sessions/store.ts'
import { countWaysIn, findPersonBy, type UserRow, type WaysIn } from './store.ts'

/** What an operator may know of a person: who they are, where they belong, how they sign in. No secrets, no content. */
export interface DescribedPerson {
  user: UserRow
  memberships: readonly Membership[]
  factors: Factors | null
  waysIn: WaysIn
  sessions: SessionsOfPerson
}

/** Describes a person to an operator; null if there is none with that address or id. */
export function describePerson(
  { db, clock }: Pick<Deps, 'clock'> & { db: Pick<Deps['db'], 'system'> },
  person: { email: string } | { id: string },
): Promise<DescribedPerson | null> {
  const at = clock()
  return asSystem(db, 'an operator looks at a person of any tenant', async (tx) => {
    const user = await findPersonBy(tx, person)
    if (!user) return null
    const [memberships, factors, waysIn, sessions] = await Promise.all([
      listMembershipsOf(tx, user.id),
      findFactors(tx, user.id, at),
      countWaysIn(tx, user.id, at),
      sessionsOfPerson(tx, user.id, at),
    ])
    return { user, memberships, factors, waysIn, sessions }
  })
}
