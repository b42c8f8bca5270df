import { hash } from 'node:crypto'
import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { nilUuid } from '../crypto/uuid.ts'
import { parameterized, secondsOf } from '../database/executor/parameterized.ts'
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
export const tenantOf = ({ tenantId = nilUuid }: { tenantId?: string | undefined }) =>
  tenantId === nilUuid ? null : tenantId

/** The key of a row, in hex. The ids of codes and tokens are the codes and tokens, so they are not stored. */
export const keyOfModel = (kind: ModelKind, id: string): string => hash('sha256', `${kind}.${id}`, 'hex')

export const hashOfModel = (kind: ModelKind, id: string): Buffer => Buffer.from(keyOfModel(kind, id), 'hex')

export interface NewModel {
  kind: ModelKind
  id: string
  /** Of a grant: the id that people see. */
  publicId?: string | null
  sessionId?: string | null
  userId?: string | null
  client: ClientKey
  grantId?: string | null
  /** Of a grant: its session as ID tokens name it, and that of the browser if the grant has one of its own. */
  sid?: string | undefined
  browserSessionId?: string | undefined
  payload: object
  /** ms since 1970 */
  at: number
  expiresAt: number
}

const modelRow = z.object({
  payload: z.record(z.string(), z.unknown()),
  session_id: z.uuid().nullable(),
  created_at: z.number(),
  consumed_at: z.number().nullable(),
})

export type ModelRow = z.infer<typeof modelRow>

const columns = sql.fragment`payload, session_id, created_at, consumed_at`

const keyedRow = modelRow.extend({ key: z.string() })

/**
 * The rows with these keys that have not expired. The keys are a list of values: Postgres plans an array anew at each use. As the
 * system role.
 */
export function listModels(read: Read, keys: readonly string[], now: number) {
  const hashes = keys.map((key) => sql.binary(Buffer.from(key, 'hex')))
  return read.any(sql.type(keyedRow)`
    select encode(id_hash, 'hex') as key, ${columns} from oauth_models
    where id_hash in (${sql.join(hashes, sql.fragment`, `)}) and expires_at > ${instant(now)}`)
}

/** A row that has not expired, or null. As the system role. */
export async function findModel(
  read: Read,
  kind: ModelKind,
  id: string,
  now: number,
): Promise<ModelRow | null> {
  const [row = null] = await listModels(read, [keyOfModel(kind, id)], now)
  return row
}

/** On what new rows depend: that this consumes a row, that another one is unused, or on nothing. */
export type Source =
  | { consumes: string; at: number; keptUntil: number }
  | { unused: string }
  | Record<string, never>

const putRow = z.object({ used: z.number(), put: z.number() })

type Put = Record<'key' | 'at' | 'until' | 'models', string>

const putFrom = (source: (put: Put) => FragmentSqlToken) =>
  parameterized(
    (put: Put) => sql.type(putRow)`
      with used as (${source(put)}), put as (
        insert into oauth_models (id_hash, id, kind, session_id, user_id, tenant_id, client_id, grant_id, sid,
                                  browser_session_id, payload, created_at, expires_at)
        select decode(m.key, 'hex'), m."publicId", m.kind, m."sessionId", m."userId", m."tenantId", m."clientId", m."grantId",
               m.sid, m."browserSessionId", m.payload, to_timestamp(m.at), to_timestamp(m."expiresAt")
        from used cross join jsonb_to_recordset(${put.models}::jsonb) as m (
          key text, "publicId" uuid, kind text, "sessionId" uuid, "userId" uuid, "tenantId" uuid, "clientId" uuid,
          "grantId" text, sid text, "browserSessionId" uuid, payload jsonb, at float8, "expiresAt" float8)
        on conflict (id_hash) do update
          set payload = excluded.payload, created_at = excluded.created_at, expires_at = excluded.expires_at
          where oauth_models.kind in ('Consent', 'Interaction') returning 1)
      select (select count(*) from used) as used, (select count(*) from put) as put`,
  )

const puts = {
  consumes: putFrom(
    ({ key, at, until }) => sql.fragment`
      update oauth_models
      set consumed_at = to_timestamp(${at}), expires_at = least(expires_at, to_timestamp(${until}))
      where id_hash = decode(${key}, 'hex') and consumed_at is null returning 1`,
  ),
  unused: putFrom(
    ({ key }) =>
      sql.fragment`select 1 from oauth_models where id_hash = decode(${key}, 'hex') and consumed_at is null`,
  ),
  nothing: putFrom(() => sql.fragment`select 1`),
}

/** Consumes and inserts in one statement. Of a kind that changes, a row replaces the earlier one; of others that stays. */
function putting(source: Source, models: readonly NewModel[]) {
  const rows = models.map(({ kind, id, client, at, expiresAt, ...model }) => ({
    ...model,
    kind,
    key: keyOfModel(kind, id),
    tenantId: tenantOf(client),
    clientId: client.id,
    at: at / 1000,
    expiresAt: expiresAt / 1000,
  }))
  const put = { key: '', at: '', until: '', models: JSON.stringify(rows) }
  if ('consumes' in source) {
    const { consumes, at, keptUntil } = source
    return puts.consumes({ ...put, key: consumes, at: secondsOf(at), until: secondsOf(keptUntil) })
  }
  return 'unused' in source ? puts.unused({ ...put, key: source.unused }) : puts.nothing(put)
}

/** Inserts a row with what the transaction commits: see {@link putModels}. As the system role. */
export const putModel = (tx: Tx, model: NewModel): void => tx.later(putting({}, [model]))

/** Inserts a row that is not there yet; false if it is. As the system role. */
export const insertNewModel = async (statements: Statements, model: NewModel): Promise<boolean> =>
  (await statements.one(putting({}, [model]))).put > 0

/** Inserts rows, if the source is as said. False if not: then nothing is written. As the system role. */
export const putModels = async (
  statements: Statements,
  source: Source,
  models: readonly NewModel[],
): Promise<boolean> => (await statements.one(putting(source, models))).used > 0

/** Deletes a row. As the system role. */
export function deleteModel(tx: Tx, kind: ModelKind, id: string): void {
  tx.later(sql.unsafe`delete from oauth_models where id_hash = ${sql.binary(hashOfModel(kind, id))}`)
}
