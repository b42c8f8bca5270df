import { z } from 'zod'
import type { Sealer } from '../crypto/seal.ts'
import { deleteOld } from '../db/delete-old.ts'
import { sql, type Tx } from '../db/transaction.ts'
import type { Delivery } from '../outbox/acknowledge.ts'
import { earliestId } from '../outbox/time-ordered-id.ts'

const claimed = z.object({ template: z.string(), content_sealed: z.instanceof(Buffer) })
const discarded = z.object({ count: z.number() })
const failed = z.object({ template: z.string() })
const content = z.object({ to: z.string(), variables: z.unknown() })

/** A mail opened for sending. */
export interface ClaimedMail {
  template: string
  to: string
  variables: unknown
}

/**
 * Marks a mail as being sent and opens it; null once it was sent, and where its message is gone: a job that is left of
 * one that was given up, or settled by way of another backend, sends nothing. Throws where no key of SECRET_KEYS opens it.
 */
export async function claimMail(
  tx: Tx,
  sealer: Sealer,
  { tenantId, id: messageId }: Delivery,
  id: string,
): Promise<ClaimedMail | null> {
  const row = await tx.maybeOne(sql.type(claimed)`
    update mails set status = 'sending', attempts = attempts + 1
    where tenant_id = ${tenantId} and id = ${id} and content_sealed is not null
      and exists (select from outbox o where o.tenant_id = ${tenantId} and o.id = ${messageId})
    returning template, content_sealed`)
  if (!row) return null
  return { template: row.template, ...content.parse(JSON.parse(sealer.open('mail', row.content_sealed, id))) }
}

/** Erases the content with the sending; `at` is in ms since 1970. */
export async function markSent(tx: Tx, tenantId: string, id: string, at: number): Promise<void> {
  await tx.query(sql.unsafe`
    update mails set status = 'sent', content_sealed = null, sent_at = ${sql.timestamp(new Date(at))}
    where tenant_id = ${tenantId} and id = ${id}`)
}

/**
 * Marks a mail as failed and gives its template, null for one that was sent. The content stays, sealed: a replayed dead
 * letter sends it after all.
 */
export function markFailed(tx: Tx, tenantId: string, id: string): Promise<string | null> {
  return tx.maybeOneFirst(sql.type(failed)`
    update mails set status = 'failed' where tenant_id = ${tenantId} and id = ${id} and status <> 'sent'
    returning template`)
}

/**
 * Takes up to `limit` mails off the outbox unsent, marks them as failed and erases their content; gives how many. A job
 * that is left of one does nothing. As the worker role.
 */
export function discardUnsent(tx: Tx, limit: number): Promise<number> {
  return tx.oneFirst(sql.type(discarded)`
    with gone as (
      delete from outbox o
      using (select tenant_id, id from outbox where queue = 'email' order by id limit ${limit} for update skip locked) w
      where o.tenant_id = w.tenant_id and o.id = w.id
      returning o.tenant_id, o.payload ->> 'mail_id' as mail_id
    ), failed as (
      update mails m set status = 'failed', content_sealed = null
      from gone where m.tenant_id = gone.tenant_id and m.id = gone.mail_id::uuid and m.status <> 'sent'
    )
    select count(*) from gone`)
}

/** Erases the content of mails that failed, once nothing can send them any more. */
export async function eraseFailed(tx: Tx, mails: readonly { tenantId: string; id: string }[]): Promise<void> {
  const rows = mails.map(({ tenantId, id }) => [tenantId, id])
  await tx.query(sql.unsafe`
    update mails m set content_sealed = null
    from ${sql.unnest(rows, ['uuid', 'uuid'])} as g (tenant_id, id)
    where m.tenant_id = g.tenant_id and m.id = g.id and m.status = 'failed'`)
}

/** Deletes mails of before `before` (ms since 1970), sent or not, at most `most`; gives how many. */
export const deleteMailsBefore = (tx: Tx, before: number, most: number): Promise<number> =>
  deleteOld(tx, { table: 'mails', column: 'id', limit: sql.fragment`${earliestId(before)}` }, most)

const unsent = z.object({ id: z.string(), content_sealed: z.instanceof(Buffer) })

/** Deletes the mails of a tenant that name an address and are not sent yet. As the worker role. */
export async function deleteMailsNaming(
  tx: Tx,
  sealer: Sealer,
  tenantId: string,
  email: string,
): Promise<void> {
  const rows = await tx.any(sql.type(unsent)`
    select id, content_sealed from mails where tenant_id = ${tenantId} and content_sealed is not null`)
  const named = rows.filter(({ id, content_sealed }) => {
    try {
      return sealer.open('mail', content_sealed, id).includes(email)
    } catch {
      return true // nobody can send it
    }
  })
  await tx.query(sql.unsafe`
    delete from mails where tenant_id = ${tenantId} and id = any(${sql.array(
      named.map(({ id }) => id),
      'uuid',
    )})`)
}
