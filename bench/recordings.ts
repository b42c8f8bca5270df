import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeJwt } from 'jose'
import type { Statement } from '../src/database/executor/flush.ts'
import { evaluationBody } from './evaluation.ts'
import { type Account, logIn } from './stage.ts'

/** What one request sends to Postgres, flush by flush, and the ids of its caller. */
export interface Recording {
  caller: Caller
  flushes: Statement[][]
}

export interface Caller {
  userId: string
  sessionId: string
  tenantId: string
  familyId: string
  email: string
}

export const callerOf = ({ access, refresh, email }: Account): Caller => {
  const { sub, sid, tenant_id: tenantId } = decodeJwt<{ sid: string; tenant_id: string }>(access)
  const { fid } = decodeJwt<{ fid: string }>(refresh)
  return { userId: sub!, sessionId: sid, tenantId, familyId: fid, email }
}

/** A request by its name in the suites. `token`: sends the access token. */
const requests: Record<string, (account: Account) => { path: string; body?: object; token: boolean }> = {
  me: () => ({ path: '/api/v1/users/me/', token: true }),
  members: (account) => ({ path: `/api/v1/tenants/${callerOf(account).tenantId}/members/`, token: true }),
  policies: () => ({ path: '/api/v1/policies/', token: true }),
  refresh: ({ refresh }) => ({ path: '/api/v1/auth/refresh/', body: { refresh }, token: false }),
  switch: (account) => ({
    path: '/api/v1/auth/switch-tenant/',
    body: { tenant_id: callerOf(account).tenantId },
    token: true,
  }),
  evaluation: () => ({ path: '/access/v1/evaluation', body: JSON.parse(evaluationBody), token: true }),
  login: ({ email, password }) => ({ path: '/api/v1/auth/login/', body: { email, password }, token: false }),
}

/**
 * Sends each request twice to an API that preloads record-statements.ts, and gives what the second one sent to Postgres: the
 * first one fills caches.
 */
export async function recordStatements(
  { url, child }: { url: string; child: ChildProcess },
  person: Pick<Account, 'email' | 'password'>,
): Promise<Record<string, Recording>> {
  const recordings: Record<string, Recording> = {}
  for (const [name, request] of Object.entries(requests)) {
    await sendTo(url, request, await logIn(url, person))
    const account = await logIn(url, person)
    await taken(child)
    await sendTo(url, request, account)
    await sleep(50) // the decision log is written soon after the answer
    recordings[name] = { caller: callerOf(account), flushes: await taken(child) }
  }
  return recordings
}

async function sendTo(url: string, request: (typeof requests)[string], account: Account): Promise<void> {
  const { path, body, token } = request(account)
  const answer = await fetch(url + path, {
    method: body ? 'POST' : 'GET',
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(token && { authorization: `Bearer ${account.access}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw new Error(`${path} answered ${answer.status} ${await answer.text()}`)
  await answer.arrayBuffer()
}

/** The flushes since the last call. Values that are bytes arrive as JSON. */
async function taken(child: ChildProcess): Promise<Statement[][]> {
  child.send('take')
  const [recorded] = (await once(child, 'message')) as [Statement[][]]
  return recorded
}
