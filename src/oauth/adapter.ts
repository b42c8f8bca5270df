import type { Adapter, AdapterPayload } from 'oidc-provider'
import { readAsSystem } from '../database/executor/read.ts'
import { asSystem } from '../database/executor/transaction.ts'
import type { Deps } from '../deps.ts'
import { prolongGrantSession } from '../identity/sessions/store.ts'
import { readClientId } from './clients/client-id.ts'
import { endGrant } from './grants/end-grant.ts'
import type { GrantAuth } from './provider-types.ts'
import { consumeModel, deleteModel, findModel, type ModelKind, putModel } from './store.ts'
import { isUnusedSuccessor, noteSuccessor, successorsOf } from './successor.ts'

// The library keeps its models here. A code or refresh token that is used again within the grace time loses nothing: the
// request that lost a race, or an answer, is refused or gets the same successor. Used again later, it ends its grant: the
// library does that with what `find` says was consumed.

const reason = 'a code or token names its tenant'
const graceMs = 10_000
const day = 86_400_000
const pushedMs = 60_000
/** A used request is remembered until all pages that it led to are over. */
const rememberedMs = 16 * 60_000

/** How long a refresh token, and the session of a grant that outlives the browser's, can be unused. In s. */
export const refreshTokenSeconds = 90 * 86_400

type AdapterDeps = Pick<Deps, 'db' | 'clock' | 'sealer'>

interface Refusals {
  /** The error for a code or token that cannot be used again. */
  used(kind: ModelKind): Error
  /** The client of the request; undefined outside of one. */
  clientId(): string | undefined
  /** What the request of the library keeps; null outside of one. */
  state(): { requestInfo?: { requestId: string } } | null
  /** Whether the client itself ends the grant (RFC 7009). Otherwise the library ends those whose tokens are used again. */
  isRevocation(): boolean
}

/** The storage of one kind of models. */
export function modelAdapter(
  deps: AdapterDeps,
  kind: ModelKind,
  { used, clientId, state, isRevocation }: Refusals,
): Adapter {
  const { db, clock } = deps
  const within = (at: number) => at > clock() - graceMs
  const isPushed = kind === 'PushedAuthorizationRequest'

  return {
    async upsert(id, payload, seconds) {
      const { jti: _jti, session: _session, ...kept } = payload
      const at = clock()
      const client = readClientId(String(payload.clientId ?? payload.params?.client_id ?? clientId()))
      if (!client) throw new Error(`A ${kind} names no client`)
      const auth = payload.auth as GrantAuth | undefined
      const grantId = kind === 'Grant' ? id : (payload.grantId ?? null)
      // A grant lasts as long as its session, with which its row is deleted.
      const lifeMs = kind === 'Grant' ? 3_650 * day : isPushed ? rememberedMs : (seconds ?? 0) * 1000
      await asSystem(db, reason, async (tx) =>
        putModel(tx, {
          kind,
          id,
          sessionId: auth?.sessionId ?? payload.sessionUid ?? null,
          userId: kind === 'Interaction' ? null : (payload.accountId ?? null),
          client,
          grantId,
          sid: auth?.sid,
          browserSessionId: auth?.browserSessionId,
          // The sign-ins that count for a request are told by this clock.
          payload: kind === 'Interaction' ? { ...kept, iat: Math.floor(at / 1000) } : kept,
          at,
          expiresAt: at + lifeMs,
        }),
      )
    },

    async find(id) {
      const row = await readAsSystem(db, reason, (read) => findModel(read, kind, id, clock()))
      if (!row) return undefined
      const payload = { ...row.payload, jti: id } as AdapterPayload
      if (isPushed && row.created_at + pushedMs <= clock()) payload.exp = 0
      if (row.consumed_at === null) return payload
      if (isPushed || !within(row.consumed_at))
        return { ...payload, consumed: Math.floor(row.consumed_at / 1000) }
      return kind === 'RefreshToken' && (await isUnusedSuccessor(deps, id)) ? payload : undefined
    },

    async consume(id) {
      const at = clock()
      const won = await asSystem(db, reason, async (tx) => {
        const row = await consumeModel(tx, kind, id, at)
        if (row?.session_id)
          prolongGrantSession(tx, row.session_id, { at, until: at + refreshTokenSeconds * 1000 })
        return row !== null
      })
      if (kind === 'RefreshToken') {
        if (!won && !(await isUnusedSuccessor(deps, id))) throw used(kind)
        noteSuccessor(state(), await successorsOf(deps, id))
      } else if (!won) throw used(kind)
    },

    async destroy(id) {
      await asSystem(db, reason, async (tx) => {
        if (kind !== 'Grant') return deleteModel(tx, kind, id)
        await endGrant(tx, {
          grantId: id,
          type: isRevocation() ? 'application.grant_revoked' : 'application.token_replayed',
          actorId: null,
          requestId: state()?.requestInfo?.requestId ?? '',
          at: clock(),
        })
      })
    },

    /** The grant takes its rows along. */
    async revokeByGrantId() {},
    findByUid: unused,
    findByUserCode: unused,
  }
}

const unused = async () => {
  throw new Error('The provider keeps no sessions and no user codes')
}
