import type { Tx } from '../../database/executor/transaction.ts'
import { type DeadLetterFilter, deleteDeadLetters } from '../outbox/dead-letters.ts'
import { mailQueues, queues } from '../queues/queues.ts'
import { eraseFailed } from './mail-store.ts'

/**
 * Deletes up to `limit` dead letters, and erases the address and content of their mails, which can no longer be sent.
 * Gives how many. As the worker role.
 */
export async function purgeDeadLetters(tx: Tx, filter: DeadLetterFilter, limit: number): Promise<number> {
  const gone = await deleteDeadLetters(tx, filter, limit)
  const mails = gone.flatMap(({ tenant_id: tenantId, queue, payload }) => {
    const isMail = (mailQueues as readonly string[]).includes(queue)
    const message = isMail ? queues.email.safeParse(payload).data : undefined
    return message ? [{ tenantId, id: message.mail_id }] : []
  })
  if (mails.length > 0) await eraseFailed(tx, mails)
  return gone.length
}
