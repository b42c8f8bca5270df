import { z } from 'zod'
import { isUuid } from '../../crypto/uuid.ts'
import { readAsWorker } from '../../database/executor/read.ts'
import { asWorker, type Databases, sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import type { MessageKey } from '../queues/queued-message.ts'

/** The key of a message, and the queue that it must be for: a forged job must not end a message of another queue. */
export interface OutboxKey extends MessageKey {
  queue: string
}

/** SQL only. Runs in the transaction that acknowledges the message. */
export type Effect = (tx: Tx) => Promise<void>
const found = z.object({ id: z.string() })
const content = z.object({ payload: z.unknown() })

const isMessage = ({ tenantId, id, queue }: OutboxKey) =>
  sql.fragment`tenant_id = ${tenantId} and id = ${id} and queue = ${queue}`

/**
 * The payload of a message as the service wrote it; null when the outbox has no such message. A job is no proof of one:
 * who can write to Redis can add jobs.
 */
export async function findMessage(
  db: Pick<Databases, 'worker'>,
  key: OutboxKey,
): Promise<{ payload: unknown } | null> {
  if (!isUuid(key.tenantId) || !isUuid(key.id)) return null
  return readAsWorker(db, (read) =>
    read.maybeOne(sql.type(content)`select payload from outbox where ${isMessage(key)}`),
  )
}

/**
 * Runs `effect` and deletes the message from the outbox, in one transaction. False, without any effect, when the
 * message is gone because another delivery of it was faster.
 */
export function acknowledge(db: Pick<Databases, 'worker'>, key: OutboxKey, effect: Effect): Promise<boolean> {
  return asWorker(db, async (tx) => {
    const row = await tx.maybeOne(sql.type(found)`
      delete from outbox where ${isMessage(key)} returning id`)
    if (row) await effect(tx)
    return row !== null
  })
}

/** Why a message is a dead letter: processing failed for the last time, or its recipient refused it for good. */
export const deadLetterReasons = ['failed', 'refused'] as const
export type DeadLetterReason = (typeof deadLetterReasons)[number]

/** A message that is given up. `error` is free of secrets; `at` is in ms since 1970. */
export interface NewDeadLetter extends OutboxKey {
  attempts: number
  reason: DeadLetterReason
  error: string
  at: number
}

/** Moves a message to the dead letters, together with `effect`, which gets its payload. False when it is gone already. */
export function deadLetter(
  db: Pick<Databases, 'worker'>,
  death: NewDeadLetter,
  effect?: (tx: Tx, payload: unknown) => Promise<void>,
): Promise<boolean> {
  const { attempts, reason, error, at } = death
  return asWorker(db, async (tx) => {
    const row = await tx.maybeOne(sql.type(content)`
      with gone as (
        delete from outbox where ${isMessage(death)}
        returning tenant_id, id, queue, payload, created_at
      )
      insert into dead_letters (tenant_id, id, queue, payload, created_at, failed_at, attempts, reason, error)
      select tenant_id, id, queue, payload, created_at, ${instant(at)}, ${attempts}, ${reason}, ${error}
      from gone
      returning payload`)
    if (row) await effect?.(tx, row.payload)
    return row !== null
  })
}
