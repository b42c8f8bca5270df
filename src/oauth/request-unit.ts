import type { Context } from 'koa'
import { writeAsSystem } from '../database/executor/batch.ts'
import { foreignKeyViolation, sqlState } from '../database/executor/database-errors.ts'
import { readSharedAsSystem } from '../database/executor/read.ts'
import { asSystem, type Tx } from '../database/executor/transaction.ts'
import type { Deps } from '../deps.ts'
import { loadHolder } from '../identity/sessions/load-auth-context.ts'
import { prolongGrantSession } from '../identity/sessions/store.ts'
import type { AuthContext } from '../request/caller.ts'
import { type ClientKey, isOfManifest } from './clients/client-id.ts'
import { type ClientUse, findUsableClient, recordUse, type UsableClient } from './clients/store.ts'
import {
  findModel,
  keyOfModel,
  listModels,
  type ModelKind,
  type ModelRow,
  type NewModel,
  putModels,
  type Source,
} from './store.ts'
import { type Holder, holderIn, successorsOf } from './token-value.ts'

// One request of the token endpoint, or of userinfo. The library asks for one thing after another. All that the use of a code or
// token needs is read in one round trip, when the library asks for the first of it. What it writes is collected, and is one
// transaction in one round trip before the answer goes out: all of it, or an error and nothing. The statement that consumes the
// code or token also inserts what it gave, so of many requests at a time one wins.

const reason = 'a code or token names its tenant'

/** How long a refresh token, and the session of a grant that outlives the browser's, can be unused. In s. */
export const refreshTokenSeconds = 90 * 86_400

/** How long a used code or token is kept. Later a refresh token is known by its value to be a used one. */
const usedKeptMs = 600_000

/** What a request has read, and will write. */
export interface RequestUnit {
  /** By their keys; null: there is none. */
  rows: Map<string, ModelRow | null>
  reading: Promise<void> | null
  /** What was read for the holder of a code or token. */
  read: { holder: Holder; client: UsableClient | null; person: AuthContext | null } | null
  /** The client that was read last. */
  client: UsableClient | null
  use: ClientUse | null
  /** What is consumed. A refresh token that was consumed before gives its successor again, while that is unused. */
  consumed: { key: string; sessionId: string | null; isRepeat: boolean; successor: string | null } | null
  models: NewModel[]
  /** Codes, tokens and grants that end, also where the answer is an error. */
  endings: ((tx: Tx) => Promise<void>)[]
}

export const newUnit = (): RequestUnit => ({
  rows: new Map(),
  reading: null,
  read: null,
  client: null,
  use: null,
  consumed: null,
  models: [],
  endings: [],
})

/** A code or token that a client presents, and whether it is to be renewed. */
export interface Presented {
  value: string
  renews: boolean
}

type UnitDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'sealer'>

/** A row, as the request has read it. The first code or token reads along what its use needs. */
export async function rowOf(
  deps: UnitDeps,
  unit: RequestUnit | null,
  kind: ModelKind,
  id: string,
): Promise<ModelRow | null> {
  const key = keyOfModel(kind, id)
  const holder = holderIn(id)
  if (unit && holder) await readOnce(deps, unit, holder, { value: id, renews: kind === 'RefreshToken' })
  const known = unit?.rows.get(key)
  if (known !== undefined) return known
  const row = await readSharedAsSystem(deps.db, reason, (read) => findModel(read, kind, id, deps.clock()))
  unit?.rows.set(key, row)
  return row
}

/** A client that may be used, or null. With it, what the use of the code or token needs that it `presents`. */
export async function usableClient(
  deps: UnitDeps,
  unit: RequestUnit | null,
  key: ClientKey,
  presents: Presented | null,
): Promise<UsableClient | null> {
  const holder = presents && holderIn(presents.value)
  if (unit && holder && isSame(holder.client, key)) await readOnce(deps, unit, holder, presents)
  if (unit?.read && isSame(unit.read.holder.client, key)) return unit.read.client
  const client = await readSharedAsSystem(deps.db, reason, (read) => findUsableClient(read, key))
  if (unit) unit.client = client
  return client
}

/** A code or token of a manifest's client has a tenant; its `client_id` has none. */
const isSame = (one: ClientKey, other: ClientKey) =>
  one.id === other.id && (one.tenantId === other.tenantId || isOfManifest(one.id))

/** Reads for the first code or token of a request. The library asks for tokens of several kinds at the same time. */
const readOnce = (deps: UnitDeps, unit: RequestUnit, holder: Holder, presents: Presented): Promise<void> => {
  unit.reading ??= readFor(deps, unit, holder, presents)
  return unit.reading
}

async function readFor(
  deps: UnitDeps,
  unit: RequestUnit,
  holder: Holder,
  { value, renews }: Presented,
): Promise<void> {
  const { db, clock, sealer } = deps
  const grantKey = keyOfModel('Grant', holder.grantId)
  const successors = renews ? successorsOf(sealer, value) : []
  const presented = kinds.map((kind) => keyOfModel(kind, value))
  const keys = [grantKey, ...presented, ...successors.map((one) => keyOfModel('RefreshToken', one))]
  const { tenantId } = holder.client
  const [client, rows, person] = await readSharedAsSystem(db, reason, (read) =>
    Promise.all([
      findUsableClient(read, holder.client),
      listModels(read, keys, clock()),
      loadHolder(read, deps, { userId: holder.userId, tenantId, grantKey }),
    ]),
  )
  unit.read = { holder, client, person }
  for (const key of keys) unit.rows.set(key, rows.find((row) => row.key === key) ?? null)
}

/** What a value can be. */
const kinds = ['AccessToken', 'AuthorizationCode', 'RefreshToken'] as const

/** Writes what the request has collected. The answer becomes an error if another request was first. */
export async function writeUnit(deps: UnitDeps, unit: RequestUnit, http: Context): Promise<void> {
  if (unit.endings.length > 0)
    await asSystem(deps.db, reason, async (tx) => {
      for (const end of unit.endings) await end(tx)
    })
  if (http.status >= 400 || (await isWritten(deps, unit))) return
  http.status = 400
  http.body = { error: 'invalid_grant', error_description: 'It was used already' }
}

async function isWritten({ db, clock }: UnitDeps, { consumed, models, use }: RequestUnit): Promise<boolean> {
  if (!consumed && models.length === 0 && !use) return true
  const at = clock()
  const write = (source: Source) =>
    writeAsSystem(db, reason, async (together) => {
      const [isPut] = await Promise.all([
        putModels(together, source, models),
        consumed?.sessionId &&
          prolongGrantSession(together, consumed.sessionId, { at, until: at + refreshTokenSeconds * 1000 }),
        use && recordUse(together, use, at),
      ])
      return isPut
    })
  try {
    for (const source of sourcesOf(consumed, at)) if (await write(source)) return true
    return false
  } catch (error) {
    // The session ended meanwhile.
    if (sqlState(error) === foreignKeyViolation) return false
    throw error
  }
}

/** What the new rows can come from. A refresh token that another request consumed meanwhile gives the same successor. */
function sourcesOf(consumed: RequestUnit['consumed'], at: number): Source[] {
  if (!consumed) return [{}]
  const { key, isRepeat, successor } = consumed
  return [
    ...(isRepeat ? [] : [{ consumes: key, at, keptUntil: at + usedKeptMs }]),
    ...(successor ? [{ unused: keyOfModel('RefreshToken', successor) }] : []),
  ]
}
