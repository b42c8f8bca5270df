import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'

/** Makes a verified address a second factor (an e-mail device) at `at` (ms since 1970), unless the person has one. */
export function makeEmailDevice(tx: Tx, userId: string, at: number): void {
  const since = instant(at)
  tx.later(sql.unsafe`
    insert into otp_devices (user_id, id, type, name, created_at, confirmed_at)
    values (${userId}, ${timeOrderedId(at)}, 'email', 'E-mail', ${since}, ${since})
    on conflict (user_id, type) where type <> 'totp' or confirmed_at is null do nothing`)
}
