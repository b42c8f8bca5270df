import type { Adapter, AdapterPayload } from 'oidc-provider'
import { writeAsSystem } from '../database/executor/batch.ts'
import { asSystem, type Tx } from '../database/executor/transaction.ts'
import type { Deps } from '../deps.ts'
import { clientIdOf, isOfManifest, readClientId } from './clients/client-id.ts'
import { endGrant } from './grants/end-grant.ts'
import type { GrantAuth, RequestState } from './provider-types.ts'
import { rowOf } from './request-unit.ts'
import { deleteModel, keyOfModel, type ModelKind, type NewModel, putModel, putModels } from './store.ts'
import { holderIn, isRefreshToken, successorsOf } from './token-value.ts'

// The library keeps its models here. A code or refresh token that is used again within the grace time loses nothing: the
// request that lost a race, or an answer, is refused or gets the same successor. Used again later, it ends its grant: the
// library does that with what `find` says was consumed.

const reason = 'a code or token names its tenant'
const graceMs = 10_000
const day = 86_400_000
const pushedMs = 60_000
/** A used request is remembered until all pages that it led to are over. */
const rememberedMs = 16 * 60_000

type AdapterDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'sealer'>

interface Request {
  /** The error for a code or token that cannot be used again. */
  used(kind: ModelKind): Error
  /** The client of the request, and the tenant where its person signs in; undefined outside of one. */
  clientId(): string | undefined
  tenantId(): string | undefined
  /** What the request of the library keeps; null outside of one. */
  state(): RequestState | null
  /** Whether the client itself ends the grant (RFC 7009). Otherwise the library ends those whose tokens are used again. */
  isRevocation(): boolean
}

/** The storage of one kind of models. */
export function modelAdapter(
  deps: AdapterDeps,
  kind: ModelKind,
  { used, clientId, tenantId, state, isRevocation }: Request,
): Adapter {
  const { db, clock, sealer } = deps
  const unitNow = () => state()?.oauth.unit ?? null
  const find = (id: string) => rowOf(deps, unitNow(), kind, id)
  const isPushed = kind === 'PushedAuthorizationRequest'

  /** The stored successor of a used refresh token, whichever key derived it; else the one to store. */
  const successorOf = async (used: string) => {
    const values = successorsOf(sealer, used)
    for (const value of values) {
      const row = await find(value)
      if (row) return { value, isUsed: row.consumed_at !== null }
    }
    return { value: values[0]!, isUsed: false }
  }

  /** A refresh token of ours whose row is gone was used: rows of used ones are not kept for long. */
  const replayed = async (id: string): Promise<AdapterPayload | undefined> => {
    const holder = holderIn(id)
    if (!holder || !isRefreshToken(sealer, id)) return undefined
    const { client, userId: accountId, grantId } = holder
    const grant = await rowOf(deps, unitNow(), 'Grant', grantId)
    const sessionUid = grant?.session_id ?? undefined
    return grant
      ? { jti: id, kind, accountId, clientId: clientIdOf(client), grantId, sessionUid, consumed: 1 }
      : undefined
  }

  return {
    async upsert(id, payload, seconds) {
      const model = modelOf(kind, id, payload, {
        clientId: clientId(),
        tenantId: tenantId(),
        at: clock(),
        seconds,
      })
      const { unit = null, tx = null } = state()?.oauth ?? {}
      if (unit) unit.models.push(model)
      else if (tx) putModel(tx, model)
      else await writeAsSystem(db, reason, (together) => putModels(together, {}, [model]))
    },

    async find(id) {
      const row = await find(id)
      if (!row) return kind === 'RefreshToken' ? replayed(id) : undefined
      // To other clients it does not exist.
      if (isPushed && row.payload.clientId !== clientId()) return undefined
      const payload = { ...row.payload, jti: id } as AdapterPayload
      if (isPushed && row.created_at + pushedMs <= clock()) payload.exp = 0
      const { consumed_at: at } = row
      if (at === null) return payload
      if (isPushed || at <= clock() - graceMs) return { ...payload, consumed: Math.floor(at / 1000) }
      return kind === 'RefreshToken' && !(await successorOf(id)).isUsed ? payload : undefined
    },

    async consume(id) {
      const unit = unitNow()
      if (!unit) {
        const at = clock()
        const source = { consumes: keyOfModel(kind, id), at, keptUntil: at + rememberedMs }
        const isWon = await writeAsSystem(db, reason, (together) => putModels(together, source, []))
        if (!isWon) throw used(kind)
        return
      }
      const row = await find(id)
      unit.consumed = {
        key: keyOfModel(kind, id),
        sessionId: row?.session_id ?? null,
        isRepeat: row?.consumed_at !== null,
        successor: kind === 'RefreshToken' ? (await successorOf(id)).value : null,
      }
    },

    async destroy(id) {
      const type = isRevocation() ? 'application.grant_revoked' : 'application.token_replayed'
      const { requestId = '' } = state()?.requestInfo ?? {}
      const end = async (tx: Tx): Promise<void> => {
        if (kind !== 'Grant') deleteModel(tx, kind, id)
        else await endGrant(tx, { grantId: id, type, actorId: null, requestId, at: clock() })
      }
      const unit = unitNow()
      if (unit) unit.endings.push(end)
      else await asSystem(db, reason, end)
    },

    /** The grant takes its rows along. */
    async revokeByGrantId() {},
    findByUid: unused,
    findByUserCode: unused,
  }
}

function modelOf(
  kind: ModelKind,
  id: string,
  payload: AdapterPayload,
  {
    clientId,
    tenantId,
    at,
    seconds,
  }: { clientId: string | undefined; tenantId: string | undefined; at: number; seconds: number | undefined },
): NewModel {
  const { jti: _jti, session: _session, ...kept } = payload
  const named = readClientId(String(payload.clientId ?? payload.params?.client_id ?? clientId))
  if (!named) throw new Error(`A ${kind} names no client`)
  // A request under way can still be for another tenant.
  const isOfRequest = isOfManifest(named.id) && kind !== 'Interaction' && tenantId !== undefined
  const client = isOfRequest ? { ...named, tenantId } : named
  const auth = payload.auth as GrantAuth | undefined
  // A grant lasts as long as its session, with which its row is deleted.
  const isPushed = kind === 'PushedAuthorizationRequest'
  const lifeMs = kind === 'Grant' ? 3_650 * day : isPushed ? rememberedMs : (seconds ?? 0) * 1000
  return {
    kind,
    id,
    publicId: auth?.gid ?? null,
    sessionId: auth?.sessionId ?? payload.sessionUid ?? null,
    userId: kind === 'Interaction' ? null : (payload.accountId ?? null),
    client,
    grantId: kind === 'Grant' ? id : (payload.grantId ?? null),
    sid: auth?.sid,
    browserSessionId: auth?.browserSessionId,
    // The sign-ins and changes that count for a request are told by this clock, to the ms.
    payload: {
      ...kept,
      ...(kind === 'Interaction' && { iat: at / 1000 }),
      ...(isPushed && { clientId }),
    },
    at,
    expiresAt: at + lifeMs,
  }
}

const unused = async () => {
  throw new Error('The provider keeps no sessions and no user codes')
}
