import { z } from 'zod'
import type { Read } from '../database/executor/read.ts'
import { idRow } from '../database/executor/row-schemas.ts'
import { sql, type Tx } from '../database/executor/transaction.ts'
import { instant } from '../database/instant.ts'

// Sign-ins with other providers that are on their way. Each step is one conditional statement, so that of parallel ones one is taken.
// All as the system role; times are in ms since 1970.

interface NewFlow {
  id: string
  provider: string
  stateHash: Buffer
  browserHash: Buffer
  keptSealed: Buffer
  at: number
  expiresAt: number
}

export function insertFlow(tx: Tx, flow: NewFlow): void {
  tx.later(sql.unsafe`
    insert into federation_flows (id, provider, step, state_hash, browser_hash, kept_sealed, created_at, expires_at)
    values (${flow.id}, ${flow.provider}, 'begun', ${sql.binary(flow.stateHash)}, ${sql.binary(flow.browserHash)},
      ${sql.binary(flow.keptSealed)}, ${instant(flow.at)}, ${instant(flow.expiresAt)})`)
}

/** The flow that waits for its answer, or null. */
export async function findBegun(
  tx: Tx,
  { stateHash, provider, at }: { stateHash: Buffer; provider: string; at: number },
): Promise<string | null> {
  const found = await tx.maybeOne(sql.type(idRow)`
    select id from federation_flows
    where state_hash = ${sql.binary(stateHash)} and provider = ${provider} and step = 'begun' and expires_at > ${instant(at)}`)
  return found?.id ?? null
}

/** Keeps an answer that came without a cookie; false if there is one already, or the flow went on. */
export async function recordAnswer(tx: Tx, { id, sealed }: { id: string; sealed: Buffer }): Promise<boolean> {
  const answered = await tx.maybeOne(sql.type(idRow)`
    update federation_flows set step = 'answered', answer_sealed = ${sql.binary(sealed)}
    where id = ${id} and step = 'begun' returning id`)
  return answered !== null
}

const takenRow = z.object({
  id: z.uuid(),
  kept_sealed: z.instanceof(Buffer),
  answer_sealed: z.instanceof(Buffer).nullable(),
})

interface TakenBy {
  stateHash: Buffer
  provider: string
  /** The hashes that the browser can have begun with. */
  browsers: readonly Buffer[]
  at: number
}

/** Takes a flow for its answer, once; null if the state, the upstream or the browser is another one, or it is too late. */
export function takeFlow(
  tx: Tx,
  { stateHash, provider, browsers, at }: TakenBy,
): Promise<z.infer<typeof takenRow> | null> {
  return tx.maybeOne(sql.type(takenRow)`
    update federation_flows set step = 'taken'
    where state_hash = ${sql.binary(stateHash)} and provider = ${provider} and step in ('begun', 'answered')
      and browser_hash = any(${sql.array([...browsers], 'bytea')}) and expires_at > ${instant(at)}
    returning id, kept_sealed, answer_sealed`)
}

interface Waiting {
  id: string
  sealed: Buffer
  /** Of the token that was mailed; null: none was. */
  mailHash: Buffer | null
  expiresAt: number
}

/** Lets a flow wait until something else is proved. */
export function holdFlow(tx: Tx, { id, sealed, mailHash, expiresAt }: Waiting): void {
  tx.later(sql.unsafe`
    update federation_flows set step = 'held', asserted_sealed = ${sql.binary(sealed)},
      mail_hash = ${mailHash && sql.binary(mailHash)}, expires_at = ${instant(expiresAt)}
    where id = ${id} and step in ('taken', 'held')`)
}

const heldRow = z.object({
  id: z.uuid(),
  provider: z.string(),
  browser_hash: z.instanceof(Buffer),
  kept_sealed: z.instanceof(Buffer),
  asserted_sealed: z.instanceof(Buffer),
})

/** A flow that waits. */
export type HeldRow = z.infer<typeof heldRow>

/** The flow that waits, by its id or by the token of its mail; null if there is none, or it is too late. */
export function findHeldFlow(
  read: Read,
  by: { id: string } | { mailHash: Buffer },
  at: number,
): Promise<HeldRow | null> {
  const is = 'id' in by ? sql.fragment`id = ${by.id}` : sql.fragment`mail_hash = ${sql.binary(by.mailHash)}`
  return read.maybeOne(sql.type(heldRow)`
    select id, provider, browser_hash, kept_sealed, asserted_sealed from federation_flows
    where ${is} and step = 'held' and expires_at > ${instant(at)}`)
}

/** Ends a flow, once; false if it ended already, or is too old. */
export async function finishFlow(tx: Tx, { id, at }: { id: string; at: number }): Promise<boolean> {
  const done = await tx.maybeOne(sql.type(idRow)`
    update federation_flows set step = 'done' where id = ${id} and step in ('taken', 'held') and expires_at > ${instant(at)}
    returning id`)
  return done !== null
}
