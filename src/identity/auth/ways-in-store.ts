import { z } from 'zod'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'

const countsRow = z.object({ passkeys: z.number(), keys: z.number() })

/** What opens an account besides its password and mailbox: passkeys, and API keys of the person that work. */
export type WaysIn = z.infer<typeof countsRow>

/** Counts them at `at` (ms since 1970), for the mail after a change. As the system role. */
export const countWaysIn = (tx: Tx, userId: string, at: number): Promise<WaysIn> =>
  tx.one(sql.type(countsRow)`
    select (select count(*) from passkeys where user_id = ${userId}) as passkeys,
           (select count(*) from api_keys where user_id = ${userId} and revoked_at is null
              and expires_at > ${instant(at)}) as keys`)
