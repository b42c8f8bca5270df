import { z } from 'zod'
import { asWorker, type Databases, sql, type Tx } from '../db/transaction.ts'
import type { MessageKey } from '../jobs/queued-message.ts'

/** SQL only. Runs in the transaction that acknowledges the message. */
export type Effect = (tx: Tx) => Promise<void>
const found = z.object({ id: z.string() })

/**
 * Runs `effect` and deletes the message from the outbox, in one transaction. False, without any effect, when the
 * message is gone because another delivery of it was faster.
 */
export function acknowledge(
  db: Pick<Databases, 'worker'>,
  { id, tenantId }: MessageKey,
  effect: Effect,
): Promise<boolean> {
  return asWorker(db, async (tx) => {
    const row = await tx.maybeOne(sql.type(found)`
      delete from outbox where tenant_id = ${tenantId} and id = ${id} returning id`)
    if (row) await effect(tx)
    return row !== null
  })
}

/** Why a message is a dead letter: processing failed for the last time, or its recipient refused it for good. */
export const deadLetterReasons = ['failed', 'refused'] as const
export type DeadLetterReason = (typeof deadLetterReasons)[number]

/** A message that is given up. `error` is free of secrets; `at` is in ms since 1970. */
export interface NewDeadLetter extends MessageKey {
  attempts: number
  reason: DeadLetterReason
  error: string
  at: number
}

/** Moves a message to the dead letters, together with `effect`. False when it is gone already. */
export function deadLetter(
  db: Pick<Databases, 'worker'>,
  death: NewDeadLetter,
  effect?: Effect,
): Promise<boolean> {
  const { id, tenantId, attempts, reason, error, at } = death
  return asWorker(db, async (tx) => {
    const row = await tx.maybeOne(sql.type(found)`
      with gone as (
        delete from outbox where tenant_id = ${tenantId} and id = ${id}
        returning tenant_id, id, queue, payload, created_at
      )
      insert into dead_letters (tenant_id, id, queue, payload, created_at, failed_at, attempts, reason, error)
      select tenant_id, id, queue, payload, created_at, ${sql.timestamp(new Date(at))}, ${attempts}, ${reason}, ${error}
      from gone
      returning id`)
    if (row) await effect?.(tx)
    return row !== null
  })
}
