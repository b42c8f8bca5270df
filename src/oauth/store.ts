import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Read } from '../database/executor/read.ts'
import { sql, type Tx } from '../database/executor/transaction.ts'
import { instant } from '../database/instant.ts'
import { timeOrderedId } from '../messages/outbox/time-ordered-id.ts'
import type { ClientKey } from './clients/client-id.ts'

/** The kinds of rows: the library's models, and the consents that people gave. */
export type ModelKind =
  | 'AccessToken'
  | 'AuthorizationCode'
  | 'Consent'
  | 'Grant'
  | 'Interaction'
  | 'PushedAuthorizationRequest'
  | 'RefreshToken'
  | 'ReplayDetection'

/** The key of a row. The ids of codes and tokens are the codes and tokens, so they are not stored. */
const hashOfModel = (kind: ModelKind, id: string): Buffer => hash('sha256', `${kind}.${id}`, 'buffer')

interface NewModel {
  kind: ModelKind
  id: string
  sessionId: string | null
  userId: string | null
  client: ClientKey
  grantId: string | null
  /** Of a grant: its session as ID tokens name it, and that of the browser if the grant has one of its own. */
  sid?: string | undefined
  browserSessionId?: string | undefined
  payload: object
  /** ms since 1970 */
  at: number
  expiresAt: number
}

/**
 * Inserts a row. Of a kind that changes, it replaces the earlier one; another row that is there already stays. As the system
 * role.
 */
export function putModel(tx: Tx, model: NewModel): void {
  const { kind, id, sessionId, userId, client, grantId, payload, at, expiresAt } = model
  const { sid = null, browserSessionId = null } = model
  tx.later(sql.unsafe`
    insert into oauth_models (id_hash, id, kind, session_id, user_id, tenant_id, client_id, grant_id, sid,
                              browser_session_id, payload, created_at, expires_at)
    values (${sql.binary(hashOfModel(kind, id))}, ${kind === 'Grant' ? timeOrderedId(at) : null}, ${kind}, ${sessionId},
            ${userId}, ${client.tenantId}, ${client.id},
            ${grantId}, ${sid}, ${browserSessionId}, ${sql.jsonb(payload as never)}, ${instant(at)}, ${instant(expiresAt)})
    on conflict (id_hash) do update
      set payload = excluded.payload, created_at = excluded.created_at, expires_at = excluded.expires_at
      where oauth_models.kind in ('Consent', 'Interaction')`)
}

/** Inserts a row that is not there yet; false if it is. As the system role. */
export async function insertNewModel(
  tx: Tx,
  { kind, id, client, at, expiresAt }: Pick<NewModel, 'kind' | 'id' | 'client' | 'at' | 'expiresAt'>,
): Promise<boolean> {
  const made = await tx.maybeOne(sql.type(tenantRow)`
    insert into oauth_models (id_hash, kind, tenant_id, client_id, payload, created_at, expires_at)
    values (${sql.binary(hashOfModel(kind, id))}, ${kind}, ${client.tenantId}, ${client.id}, '{}', ${instant(at)},
            ${instant(expiresAt)})
    on conflict (id_hash) do nothing returning tenant_id`)
  return made !== null
}

const tenantRow = z.object({ tenant_id: z.uuid() })

const modelRow = z.object({
  payload: z.record(z.string(), z.unknown()),
  session_id: z.uuid().nullable(),
  created_at: z.number(),
  consumed_at: z.number().nullable(),
})

type ModelRow = z.infer<typeof modelRow>

/** A row that has not expired, or null. As the system role. */
export function findModel(read: Read, kind: ModelKind, id: string, now: number): Promise<ModelRow | null> {
  return read.maybeOne(sql.type(modelRow)`
    select payload, session_id, created_at, consumed_at from oauth_models
    where id_hash = ${sql.binary(hashOfModel(kind, id))} and expires_at > ${instant(now)}`)
}

const consumedRow = z.object({ session_id: z.uuid().nullable() })

/** Consumes a row; null if that was done before. As the system role. */
export function consumeModel(tx: Tx, kind: ModelKind, id: string, now: number) {
  return tx.maybeOne(sql.type(consumedRow)`
    update oauth_models set consumed_at = ${instant(now)}
    where id_hash = ${sql.binary(hashOfModel(kind, id))} and consumed_at is null returning session_id`)
}

/** Deletes a row. As the system role. */
export function deleteModel(tx: Tx, kind: ModelKind, id: string): void {
  tx.later(sql.unsafe`delete from oauth_models where id_hash = ${sql.binary(hashOfModel(kind, id))}`)
}
