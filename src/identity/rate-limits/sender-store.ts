import { z } from 'zod'
import { sql, type Tx } from '../../platform/db/transaction.ts'

const moment = (ms: number) => sql.timestamp(new Date(ms))

/** A mail of a sender to a recipient (both as keys) at a moment (ms since 1970), in a window that ends at `until`. */
export interface Mailing {
  sender: string
  recipient: string
  most: number
  at: number
  until: number
}

/**
 * Counts a recipient for a sender, each once in a window of `most`; false where that is spent, and then counts
 * nothing. As the system role.
 */
export async function countRecipient(
  tx: Tx,
  { sender, recipient, most, at, until }: Mailing,
): Promise<boolean> {
  const counted = await tx.maybeOne(sql.type(z.object({ sender: z.string() }))`
    insert into mail_senders as m (sender, recipients, window_ends_at)
    values (${sender}, ${sql.array([recipient], 'text')}, ${moment(until)})
    on conflict (sender) do update set
      recipients = case when m.window_ends_at <= ${moment(at)} then excluded.recipients
                        when ${recipient} = any(m.recipients) then m.recipients
                        else m.recipients || excluded.recipients end,
      window_ends_at = case when m.window_ends_at <= ${moment(at)} then excluded.window_ends_at
                            else m.window_ends_at end
    where m.window_ends_at <= ${moment(at)} or ${recipient} = any(m.recipients)
      or cardinality(m.recipients) < ${most}
    returning m.sender`)
  return counted !== null
}

/** When the window of a sender ends, in ms since 1970. As the system role. */
export function senderWindowEnds(tx: Tx, sender: string): Promise<number> {
  return tx.oneFirst(sql.type(z.object({ ends: z.number() }))`
    select window_ends_at as ends from mail_senders where sender = ${sender}`)
}
