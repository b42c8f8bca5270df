import { createHash } from 'node:crypto'
import type { Context } from 'koa'
import type { Sealer } from '../../crypto/seal.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import { ApiError, invalidField } from '../../errors.ts'
import { Found, Versioned } from '../answer/etag.ts'
import type { RequestContext } from '../request-context.ts'
import type { AnyInput, Route } from '../route.ts'
import { findAnswer, storeAnswer, takeTurn } from './answer-store.ts'

const keptMs = 86_400_000

/** A call with an `Idempotency-Key`: repeated with the same key and body, it gets the same answer and changes nothing. */
export interface RepeatableCall {
  /**
   * The answer of the first call; null if there is none. Throws 409 while another call with the key runs, 422 for
   * another body. No other call with the key runs until the transaction ends.
   */
  find(tx: Tx): Promise<{ answer: unknown } | null>
  /** Stores the answer, sealed, with the commit of its effect. */
  store(tx: Tx, answer: unknown): void
}

/** Whether the route honours `Idempotency-Key`: it creates an object, in one transaction of the request. */
export const isRepeatable = ({ method, status, kind }: Pick<Route, 'method' | 'status' | 'kind'>): boolean =>
  method === 'POST' && status === 201 && kind === 'change'

/** The form of an `Idempotency-Key`. */
export const idempotencyKeyForm = /^[\x21-\x7e]{1,255}$/

/** The `Idempotency-Key` of a request to a repeatable route. Null without one. Throws 400 for one of another form. */
export function idempotencyKey(http: Context, route: Route): string | null {
  const key = http.req.headers['idempotency-key']
  if (key === undefined || !isRepeatable(route)) return null
  if (typeof key === 'string' && idempotencyKeyForm.test(key)) return key
  throw invalidField(
    'Idempotency-Key',
    'Give 1 to 255 visible ASCII characters, for example a random UUID, and a new one for each call.',
  )
}

/** The repeatable call of a request. `key` is its `Idempotency-Key`. */
export function repeatableCall(
  { sealer }: { sealer: Sealer },
  { route, caller, now }: RequestContext,
  { params, text }: AnyInput,
  key: string,
): RepeatableCall {
  const { userId, impersonatorId, tokenTenantId: tenantId, token, sessionId } = caller
  const callerId = token === 'key' || token === 'oauth' ? sessionId : userId
  const id = uuidOf(digest([tenantId, callerId, impersonatorId, route.method, route.path, key]))
  // Keyed: a body can contain a password, which a plain hash would give away to a copy of the database.
  const content = JSON.stringify([params, text()])
  const context = `${tenantId}.${id}`
  return {
    async find(tx) {
      const [isFree, row] = await Promise.all([
        takeTurn(tx, { tenantId, id }),
        findAnswer(tx, { tenantId, id }, now),
      ])
      if (row && !sealer.macs('idempotency', content).some((mac) => mac.equals(row.body_digest)))
        throw keyReused()
      if (row) return { answer: answerOf(JSON.parse(sealer.open('idempotency', row.answer_sealed, context))) }
      if (!isFree) throw keyInFlight()
      return null
    },
    store(tx, answer) {
      const answerSealed = sealer.seal('idempotency', JSON.stringify(storedAnswer(answer)), context)
      const expiresAt = now + keptMs
      const bodyDigest = sealer.mac('idempotency', content)
      storeAnswer(tx, { tenantId, id, userId, bodyDigest, answerSealed, at: now, expiresAt })
    },
  }
}

/** An answer as it is stored: its body, with its version, or with `found`. */
interface StoredAnswer {
  version?: number
  found?: true
  body: unknown
}

function storedAnswer(answer: unknown): StoredAnswer {
  if (answer instanceof Versioned) return { version: answer.version, body: answer.body }
  return answer instanceof Found ? { found: true, body: answer.body } : { body: answer }
}

function answerOf({ version, found, body }: StoredAnswer): unknown {
  if (found) return new Found(body)
  return version === undefined ? body : new Versioned(version, body)
}

const digest = (parts: unknown[]): Buffer => createHash('sha256').update(JSON.stringify(parts)).digest()

/** The first 128 bits of a digest, in the form of a UUID of version 8 (RFC 9562 §5.8). */
function uuidOf(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`]
  return [...parts, hex.slice(20, 32)].join('-')
}

const keyReused = () =>
  new ApiError(
    422,
    'idempotency_key_reused',
    'This Idempotency-Key belongs to another call in the last 24 hours. Give each call a key of its own.',
  )

const keyInFlight = () =>
  new ApiError(
    409,
    'idempotency_key_in_flight',
    'The first call with this Idempotency-Key is still running. Repeat the call in a moment.',
    { headers: { 'Retry-After': '1' } },
  )
