import { z } from 'zod'
import type { Sealer } from '../../crypto/seal.ts'
import { skippingLocked } from '../../database/claim-rows.ts'
import { deleteOld } from '../../database/delete-old.ts'
import { countRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { ofTenants } from '../../database/of-tenants.ts'
import { earliestId } from '../outbox/time-ordered-id.ts'
import type { MessageKey } from '../queues/queued-message.ts'
import { type MailQueue, mailQueues } from '../queues/queues.ts'
import { namesAddress } from './email-address.ts'

const claimed = z.object({
  template: z.string(),
  content_sealed: z.instanceof(Buffer),
  attempts: z.number(),
})
const failed = z.object({ template: z.string() })
const content = z.object({ to: z.string(), variables: z.unknown(), languages: z.string().optional() })

/** A mail with its content decrypted for sending. */
export interface ClaimedMail {
  template: string
  to: string
  variables: unknown
  /** The `Accept-Language` of the request that caused the mail. */
  languages?: string | undefined
  isFirstAttempt: boolean
}

/**
 * Marks a mail as being sent and decrypts it. Null when it was sent already, and when its outbox message is gone: a job
 * left over from a message that was given up, or acknowledged through another backend, sends nothing. Throws when no
 * key of SECRET_KEYS decrypts it.
 */
export async function claimMail(
  tx: Tx,
  sealer: Sealer,
  { tenantId, id: messageId, queue }: MessageKey & { queue: MailQueue },
  id: string,
): Promise<ClaimedMail | null> {
  const row = await tx.maybeOne(sql.type(claimed)`
    update mails set status = 'sending', attempts = attempts + 1
    where tenant_id = ${tenantId} and id = ${id} and content_sealed is not null
      and exists (select 1 from outbox o where o.tenant_id = ${tenantId} and o.id = ${messageId} and o.queue = ${queue})
    returning template, content_sealed, attempts`)
  if (!row) return null
  const { template, attempts, content_sealed: sealed } = row
  return {
    template,
    isFirstAttempt: attempts === 1,
    ...content.parse(JSON.parse(sealer.open('mail', sealed, id))),
  }
}

const reader = z.object({ locale: z.string().nullable(), zoneinfo: z.string().nullable() })

/** The language and the time zone of the person with an address; null if it has no account. As the worker role. */
export const findReader = (tx: Tx, email: string): Promise<z.infer<typeof reader> | null> =>
  tx.maybeOne(sql.type(reader)`select locale, zoneinfo from users where email = ${email}`)

/** Marks a mail as sent and erases its content. `at` is in ms since 1970. */
export async function markSent(tx: Tx, tenantId: string, id: string, at: number): Promise<void> {
  tx.later(sql.unsafe`
    update mails set status = 'sent', content_sealed = null, sent_at = ${instant(at)}
    where tenant_id = ${tenantId} and id = ${id}`)
}

/** Deletes a mail that is not sent, in the transaction that decides so. */
export async function deleteMail(tx: Tx, tenantId: string, id: string): Promise<void> {
  tx.later(sql.unsafe`delete from mails where tenant_id = ${tenantId} and id = ${id}`)
}

/**
 * Marks a mail as failed and gives its template; null for a mail that was sent. The encrypted content stays, so that a
 * replayed dead letter can still send it.
 */
export function markFailed(tx: Tx, tenantId: string, id: string): Promise<string | null> {
  return tx.maybeOneFirst(sql.type(failed)`
    update mails set status = 'failed' where tenant_id = ${tenantId} and id = ${id} and status <> 'sent'
    returning template`)
}

/**
 * Removes up to `limit` unsent mails from the outbox, marks them as failed and erases their content; gives how many. A
 * job left over from one of them does nothing. As the worker role.
 */
export function discardUnsent(tx: Tx, limit: number): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    with gone as (
      delete from outbox o
      using (select tenant_id, id from outbox where queue = any(${sql.array([...mailQueues], 'text')}) order by id limit ${limit} ${skippingLocked(tx)}) w
      where o.tenant_id = w.tenant_id and o.id = w.id
      returning o.tenant_id, o.payload ->> 'mail_id' as mail_id
    ), failed as (
      update mails m set status = 'failed', content_sealed = null
      from gone where m.tenant_id = gone.tenant_id and m.id = gone.mail_id::uuid and m.status <> 'sent'
    )
    select count(*) from gone`)
}

/** Erases the content of failed mails, when their dead letters are gone and nothing can send them. */
export async function eraseFailed(tx: Tx, mails: readonly { tenantId: string; id: string }[]): Promise<void> {
  const rows = mails.map(({ tenantId, id }) => [tenantId, id])
  tx.later(sql.unsafe`
    update mails m set content_sealed = null
    from ${sql.unnest(rows, ['uuid', 'uuid'])} as g (tenant_id, id)
    where m.tenant_id = g.tenant_id and m.id = g.id and m.status = 'failed'
      ${ofTenants(tx, sql.fragment`m.tenant_id`, mails)}`)
}

/** Deletes up to `limit` mails from before `before` (ms since 1970), sent or not; gives how many. */
export const deleteMailsBefore = (tx: Tx, before: number, limit: number): Promise<number> =>
  deleteOld(tx, { table: 'mails', column: 'id', before: sql.fragment`${earliestId(before)}` }, limit)

const mailTo = z.object({
  id: z.uuid(),
  tenant_id: z.uuid(),
  template: z.string(),
  status: z.enum(['pending', 'sending', 'sent', 'failed']),
  attempts: z.number(),
  created_at: z.number(),
  sent_at: z.number().nullable(),
})

/** A mail as operators see it: its state, not its content. */
export type MailTo = z.infer<typeof mailTo>

/** The latest mails whose recipient has one of these hashes, of all tenants. As the worker role. */
export const listMailsTo = (tx: Tx, hashes: readonly Buffer[], limit: number): Promise<readonly MailTo[]> =>
  tx.any(sql.type(mailTo)`
    select id, tenant_id, template, status, attempts, created_at, sent_at from mails
    where recipient = any(${sql.array(hashes, 'bytea')}) order by id desc limit ${limit}`)

/** Forgets to whom the mails to these hashes went, in all tenants. As the worker role. */
export function forgetRecipients(tx: Tx, hashes: readonly Buffer[]): void {
  tx.later(sql.unsafe`
    update mails set recipient = null where recipient = any(${sql.array(hashes, 'bytea')})`)
}

const unsent = z.object({ id: z.string(), content_sealed: z.instanceof(Buffer) })

/** Deletes a tenant's unsent mails that contain one of these addresses. As the worker role. */
export async function deleteMailsNaming(
  tx: Tx,
  sealer: Sealer,
  tenantId: string,
  emails: readonly string[],
): Promise<void> {
  if (emails.length === 0) return
  const rows = await tx.any(sql.type(unsent)`
    select id, content_sealed from mails where tenant_id = ${tenantId} and content_sealed is not null`)
  const naming = rows.filter(({ id, content_sealed }) => {
    try {
      return namesAddress(sealer.open('mail', content_sealed, id), emails)
    } catch {
      return true // no key decrypts it, so it can never be sent
    }
  })
  tx.later(sql.unsafe`
    delete from mails where tenant_id = ${tenantId} and id = any(${sql.array(
      naming.map(({ id }) => id),
      'uuid',
    )})`)
}
