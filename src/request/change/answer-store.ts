import { z } from 'zod'
import { deleteOld } from '../../database/delete-old.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'

/** A call that can be repeated. `id` names caller, route and Idempotency-Key. */
export interface CallKey {
  tenantId: string
  id: string
}

const answerRow = z.object({ body_digest: z.instanceof(Buffer), answer_sealed: z.instanceof(Buffer) })
const turnRow = z.object({ free: z.boolean() })
/**
 * Takes the call's turn until the transaction ends; false while another transaction has it. Where a database has
 * several nodes that do not share this lock, the primary key still refuses a second answer.
 */
export function takeTurn(tx: Tx, { id }: CallKey): Promise<boolean> {
  return tx.oneFirst(sql.type(turnRow)`select pg_try_advisory_xact_lock(hashtextextended(${id}, 72)) as free`)
}

/** The stored answer of a call, if it has not expired. `now` in ms. */
export function findAnswer(
  tx: Tx,
  { tenantId, id }: CallKey,
  now: number,
): Promise<z.infer<typeof answerRow> | null> {
  return tx.maybeOne(sql.type(answerRow)`
    select body_digest, answer_sealed from idempotency_keys
    where tenant_id = ${tenantId} and id = ${id} and expires_at > ${instant(now)}`)
}

interface NewAnswer extends CallKey {
  userId: string
  bodyDigest: Buffer
  answerSealed: Buffer
  /** ms since 1970 */
  at: number
  expiresAt: number
}

/** Stores an answer with the commit, in place of one that expired. A second one fails the transaction. */
export function storeAnswer(tx: Tx, answer: NewAnswer): void {
  const { tenantId, id, userId, bodyDigest, answerSealed, at, expiresAt } = answer
  tx.later(sql.unsafe`
    delete from idempotency_keys where tenant_id = ${tenantId} and id = ${id} and expires_at <= ${instant(at)}`)
  tx.later(sql.unsafe`
    insert into idempotency_keys (tenant_id, id, user_id, body_digest, answer_sealed, expires_at)
    values (${tenantId}, ${id}, ${userId}, ${sql.binary(bodyDigest)}, ${sql.binary(answerSealed)}, ${instant(expiresAt)})`)
}

/** Deletes up to `limit` answers that expired before a time (ms since 1970); gives how many. As the worker role. */
export const deleteAnswersBefore = (tx: Tx, before: number, limit: number): Promise<number> =>
  deleteOld(
    tx,
    { table: 'idempotency_keys', column: 'expires_at', before: sql.fragment`${instant(before)}` },
    limit,
  )
