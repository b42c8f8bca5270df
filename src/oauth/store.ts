import { hash } from 'node:crypto'
import { z } from 'zod'
import { nilUuid } from '../crypto/uuid.ts'
import type { Read } from '../database/executor/read.ts'
import type { Statements } from '../database/executor/statements.ts'
import { sql, type Tx } from '../database/executor/transaction.ts'
import { instant } from '../database/instant.ts'
import type { ClientKey } from './clients/client-id.ts'

/** The kinds of rows: the library's models, and the consents that people gave. */
export type ModelKind =
  | 'AccessToken'
  | 'AuthorizationCode'
  | 'Consent'
  | 'DeviceCode'
  | 'Grant'
  | 'Interaction'
  | 'PushedAuthorizationRequest'
  | 'RefreshToken'
  | 'ReplayDetection'

/** Null for a client of a manifest whose person has not signed in yet. */
const tenantOf = ({ tenantId }: ClientKey) => (tenantId === nilUuid ? null : tenantId)

/** The key of a row, in hex. The ids of codes and tokens are the codes and tokens, so they are not stored. */
export const keyOfModel = (kind: ModelKind, id: string): string => hash('sha256', `${kind}.${id}`, 'hex')

export const hashOfModel = (kind: ModelKind, id: string): Buffer => Buffer.from(keyOfModel(kind, id), 'hex')

export interface NewModel {
  kind: ModelKind
  id: string
  /** Of a grant: the id that people see. */
  publicId?: string | null
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
  const { publicId = null, sid = null, browserSessionId = null } = model
  tx.later(sql.unsafe`
    insert into oauth_models (id_hash, id, kind, session_id, user_id, tenant_id, client_id, grant_id, sid,
                              browser_session_id, payload, created_at, expires_at)
    values (${sql.binary(hashOfModel(kind, id))}, ${publicId}, ${kind}, ${sessionId},
            ${userId}, ${tenantOf(client)}, ${client.id},
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
    values (${sql.binary(hashOfModel(kind, id))}, ${kind}, ${tenantOf(client)}, ${client.id}, '{}', ${instant(at)},
            ${instant(expiresAt)})
    on conflict (id_hash) do nothing returning tenant_id`)
  return made !== null
}

const tenantRow = z.object({ tenant_id: z.uuid().nullable() })

const modelRow = z.object({
  payload: z.record(z.string(), z.unknown()),
  session_id: z.uuid().nullable(),
  created_at: z.number(),
  consumed_at: z.number().nullable(),
})

export type ModelRow = z.infer<typeof modelRow>

const columns = sql.fragment`payload, session_id, created_at, consumed_at`

/** A row that has not expired, or null. As the system role. */
export function findModel(read: Read, kind: ModelKind, id: string, now: number): Promise<ModelRow | null> {
  return read.maybeOne(sql.type(modelRow)`
    select ${columns} from oauth_models
    where id_hash = ${sql.binary(hashOfModel(kind, id))} and expires_at > ${instant(now)}`)
}

const keyedRow = modelRow.extend({ key: z.string() })

/** The rows with these keys that have not expired. As the system role. */
export function listModels(read: Read, keys: readonly string[], now: number) {
  const hashes = keys.map((key) => Buffer.from(key, 'hex'))
  return read.any(sql.type(keyedRow)`
    select encode(id_hash, 'hex') as key, ${columns} from oauth_models
    where id_hash = any(${sql.array(hashes, 'bytea')}) and expires_at > ${instant(now)}`)
}

/** On what new rows depend: that this consumes a row, that another one is unused, or on nothing. */
export type Source =
  | { consumes: string; at: number; keptUntil: number }
  | { unused: string }
  | Record<string, never>

const usedRow = z.object({ used: z.number() })

const sourceOf = (source: Source) =>
  'consumes' in source
    ? sql.fragment`
        update oauth_models
        set consumed_at = ${instant(source.at)}, expires_at = least(expires_at, ${instant(source.keptUntil)})
        where id_hash = decode(${source.consumes}, 'hex') and consumed_at is null returning 1`
    : 'unused' in source
      ? sql.fragment`select 1 from oauth_models where id_hash = decode(${source.unused}, 'hex') and consumed_at is null`
      : sql.fragment`select 1`

/**
 * Inserts rows of codes and tokens, if the source is as said; one that is there stays. False if not: then nothing is
 * written. As the system role.
 */
export async function putModelsFrom(
  statements: Statements,
  source: Source,
  models: readonly NewModel[],
): Promise<boolean> {
  const rows = models.map(({ kind, id, client, at, expiresAt, ...model }) => ({
    ...model,
    kind,
    key: keyOfModel(kind, id),
    tenantId: tenantOf(client),
    clientId: client.id,
    at: new Date(at).toISOString(),
    expiresAt: new Date(expiresAt).toISOString(),
  }))
  const used = await statements.oneFirst(sql.type(usedRow)`
    with used as (${sourceOf(source)}), put as (
      insert into oauth_models (id_hash, kind, session_id, user_id, tenant_id, client_id, grant_id, payload, created_at, expires_at)
      select decode(m.key, 'hex'), m.kind, m."sessionId", m."userId", m."tenantId", m."clientId", m."grantId", m.payload, m.at, m."expiresAt"
      from used cross join jsonb_to_recordset(${sql.jsonb(rows as never)}) as m (
        key text, kind text, "sessionId" uuid, "userId" uuid, "tenantId" uuid, "clientId" uuid, "grantId" text, payload jsonb,
        at timestamptz, "expiresAt" timestamptz)
      on conflict (id_hash) do nothing)
    select count(*) as used from used`)
  return used > 0
}

/** Consumes a row; false if that was done before. As the system role. */
export async function consumeModel(tx: Tx, kind: ModelKind, id: string, now: number): Promise<boolean> {
  const { rowCount } = await tx.query(sql.unsafe`
    update oauth_models set consumed_at = ${instant(now)}
    where id_hash = ${sql.binary(hashOfModel(kind, id))} and consumed_at is null`)
  return rowCount > 0
}

/** Deletes a row. As the system role. */
export function deleteModel(tx: Tx, kind: ModelKind, id: string): void {
  tx.later(sql.unsafe`delete from oauth_models where id_hash = ${sql.binary(hashOfModel(kind, id))}`)
}
