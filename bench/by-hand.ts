import { createHash, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { availableParallelism } from 'node:os'
import { text } from 'node:stream/consumers'
import {
  createLocalJWKSet,
  exportJWK,
  generateKeyPair,
  type JSONWebKeySet,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose'
import pg from 'pg'
import { type Answer, Flush, type Statement, type WireValue } from '../src/database/executor/flush.ts'
import type { Caller, Recording } from './recordings.ts'

// The lower bound for a request with the same guarantees: node:http, jose, and the statements that the service itself sent
// for such a request, in the same flushes, with the values of each caller. No router, no policies, no validation, no log.
// The decision log is left out: the service writes it later, for many requests together.

const { PORT, HOST, DATABASE_API_URL, DATABASE_SYSTEM_URL, JWKS_URL, RECORDINGS } = process.env
const recordings: Record<string, Recording> = JSON.parse(readFileSync(RECORDINGS!, 'utf8'))
const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
const { keys: ofService } = (await (await fetch(JWKS_URL!)).json()) as JSONWebKeySet
const keys = createLocalJWKSet({
  keys: [...ofService, { ...(await exportJWK(publicKey)), kid: 'hand', alg: 'ES256' }],
})
const verified = new Map<string, JWTPayload>()

// As many connections for each role as the API has: cores + 2.
const pools = { api: openPool(DATABASE_API_URL), system: openPool(DATABASE_SYSTEM_URL) }

function openPool(connectionString: string | undefined): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: availableParallelism() + 2, idleTimeoutMillis: 0 })
  pool.setMaxListeners(0)
  return pool
}

createServer(async (request, response) => {
  if (request.url === '/') return response.end()
  const answer = await answerTo(request).catch((error: Error) => {
    console.error(error)
    return undefined
  })
  response.statusCode = answer ? 200 : 500
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(answer ?? {}))
}).listen(Number(PORT), HOST)

async function answerTo(request: IncomingMessage): Promise<unknown> {
  if (request.url === '/api/v1/auth/refresh/') {
    const { refresh } = JSON.parse(await text(request))
    return rotate('refresh', await claimsOf(refresh))
  }
  const claims = await claimsOf((request.headers.authorization ?? '').slice(7))
  if (request.url === '/api/v1/auth/switch-tenant/') {
    JSON.parse(await text(request))
    return rotate('switch', claims)
  }
  const { answers } = await replay(request.url === '/api/v1/users/me/' ? 'me' : 'members', claims, '')
  return answers.map(({ columns, rows }) =>
    rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index]]))),
  )
}

/** The second flush of these requests is conditional on the row of the first; then two tokens are signed. */
async function rotate(name: string, claims: JWTPayload) {
  const jti = randomUUID()
  const { updated } = await replay(name, claims, jti)
  if (!updated) throw new Error(`${name} changed no row`)
  const { sid, fid, sub, tenant_id } = claims
  const shared = { sid, sub, tenant_id, jti, exp: Math.floor(Date.now() / 1_000) + 900 }
  const signed = (claims: JWTPayload, typ: string) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'hand', typ }).sign(privateKey)
  const [access, refresh] = await Promise.all([
    signed(shared, 'at+jwt'),
    signed({ ...shared, fid }, 'rt+jwt'),
  ])
  return { access, refresh }
}

/** Sends the recorded flushes of a request, each transaction on one connection, and gives the answers of the first flush. */
async function replay(
  name: string,
  claims: JWTPayload,
  jti: string,
): Promise<{ answers: Answer[]; updated: boolean }> {
  const { caller, flushes } = recordings[name]!
  const bind = binding(caller, claims, jti)
  let family: Record<string, string | null> = {}
  let first: Answer[] | undefined
  let updated = true
  for (const transaction of transactionsOf(flushes)) {
    const isApi = transaction[0]!.some(({ text }) => text.includes('set_config('))
    const client = await pools[isApi ? 'api' : 'system'].connect()
    for (const statements of transaction) {
      const flush = new Flush(statements.map((statement) => bind(statement, family)))
      client.query(flush as unknown as pg.Submittable)
      const { answers, error } = await flush.outcome
      if (error) throw error
      first ??= answers
      family = familyOf(answers) ?? family
      updated &&= answers.every(({ tag }) => tag !== 'UPDATE 0')
    }
    client.release()
  }
  return { answers: first ?? [], updated }
}

/** The flushes of each transaction, without those that write the decision log. */
function transactionsOf(flushes: Statement[][]): Statement[][][] {
  const transactions: Statement[][][] = []
  for (const flush of flushes) {
    if (flush.some(({ text }) => text.includes('insert into decisions'))) continue
    const opens = flush.some(({ text }) => text === 'begin' || text.includes('set_config('))
    if (opens || transactions.length === 0) transactions.push([flush])
    else transactions.at(-1)!.push(flush)
  }
  return transactions
}

const familyOf = (answers: Answer[]): Record<string, string | null> | undefined => {
  const found = answers.find(({ columns }) => columns.some(({ name }) => name === 'jti_hash'))
  const row = found?.rows[0]
  return row && Object.fromEntries(found.columns.map(({ name }, index) => [name, row[index] ?? null]))
}

const anId = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** Puts the caller's ids, new ids, and the row of the token's family in the place of what was recorded. */
function binding(recorded: Caller, claims: JWTPayload, jti: string) {
  const ids = new Map([
    [recorded.userId, String(claims.sub)],
    [recorded.sessionId, String(claims.sid)],
    [recorded.tenantId, String(claims.tenant_id)],
    [recorded.familyId, String(claims.fid)],
  ])
  const idOf = (id: string) => {
    if (!ids.has(id)) ids.set(id, randomUUID())
    return ids.get(id)!
  }
  return (statement: Statement, family: Record<string, string | null>): Statement => {
    const generation = Number(/generation = \$(\d+)/.exec(statement.text)?.[1]) - 1
    const oldHash = Number(/and jti_hash = \$(\d+)/.exec(statement.text)?.[1]) - 1
    const values = statement.values.map((value: WireValue | { data: number[] }, index) => {
      if (index === generation) return family.generation ?? null
      if (index === oldHash) return Buffer.from(String(family.jti_hash).slice(2), 'hex')
      if (value !== null && typeof value === 'object') return createHash('sha256').update(jti).digest()
      return typeof value === 'string' ? value.replace(anId, idOf) : value
    })
    return { ...statement, values }
  }
}

async function claimsOf(token: string): Promise<JWTPayload> {
  const known = verified.get(token)
  if (known && known.exp! * 1_000 > Date.now()) return known
  const { payload, protectedHeader } = await jwtVerify(token, keys)
  if (protectedHeader.typ === 'at+jwt') verified.set(token, payload)
  return payload
}

process.on('SIGTERM', () => process.exit(0))
