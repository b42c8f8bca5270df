import { hash } from 'node:crypto'
import { z } from 'zod'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'

const hourMs = 3_600_000

const countedRow = z.object({ notices: z.number() })
const summaryRow = z.object({ notices: z.number(), ends_at: z.number() })

/** A notice that the worker is about to send. Times in ms since 1970. */
export interface DueNotice {
  id: string
  to: string
  template: string
  perHour: number
  /** A mail is counted at its first attempt, in the transaction that begins it, so each is counted once. */
  isFirstAttempt: boolean
  at: number
}

/** What happens to a notice. `waitMs`: until its hour is over. `notSent`: how many it stands for, itself included. */
export type NoticeDecision =
  | { act: 'send' | 'withhold' }
  | { act: 'wait'; waitMs: number }
  | { act: 'summarise'; notSent: number }

/**
 * Decides about a notice: an address gets `perHour` of a template in each hour of the clock. The first one beyond waits
 * until the hour is over, and then says how many were not sent. As the worker role.
 */
export function decideNotice(tx: Tx, notice: DueNotice): Promise<NoticeDecision> {
  return notice.isFirstAttempt ? count(tx, notice) : decideAgain(tx, notice)
}

const recipientKey = (to: string) => sql.binary(hash('sha256', to, 'buffer'))

async function count(tx: Tx, { id, to, template, perHour, at }: DueNotice): Promise<NoticeDecision> {
  const endsAt = (Math.floor(at / hourMs) + 1) * hourMs
  const { notices } = await tx.one(sql.type(countedRow)`
    insert into notice_windows as w (recipient, kind, ends_at, notices)
    values (${recipientKey(to)}, ${template}, ${instant(endsAt)}, 1)
    on conflict (recipient, kind, ends_at) do update set notices = w.notices + 1,
      summary_id = case when w.notices = ${perHour} then ${id}::uuid else w.summary_id end
    returning notices`)
  if (notices <= perHour) return { act: 'send' }
  return notices === perHour + 1 ? { act: 'wait', waitMs: endsAt - at } : { act: 'withhold' }
}

async function decideAgain(tx: Tx, { id, to, template, perHour, at }: DueNotice): Promise<NoticeDecision> {
  const window = await tx.maybeOne(sql.type(summaryRow)`
    select notices, ends_at from notice_windows
    where recipient = ${recipientKey(to)} and kind = ${template} and summary_id = ${id}`)
  if (!window) return { act: 'send' }
  if (window.ends_at > at) return { act: 'wait', waitMs: window.ends_at - at }
  return { act: 'summarise', notSent: window.notices - perHour }
}

/** Deletes up to `limit` counts of hours that ended a day before `now` (ms since 1970); gives how many. As the worker role. */
export async function deleteOldWindows(tx: Tx, now: number, limit: number): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    delete from notice_windows where (recipient, kind, ends_at) in (
      select recipient, kind, ends_at from notice_windows
      where ends_at <= ${instant(now - 24 * hourMs)} order by ends_at limit ${limit})`)
  return rowCount
}
