import { startEmbeddedPostgres } from '../src/start/development/embedded-postgres.ts'
import { crowd } from '../test/helpers/crowd.ts'
import { cpuOf, cpuOfTree } from './cpu.ts'
import { callerOf } from './recordings.ts'
import { freshTokens, generate, type Load, openStage, type Stage } from './stage.ts'

/** One point of a curve: its size, and what a request costs there. CPU in ms of server and Postgres. */
export interface Point {
  curve: string
  size: number
  request: string
  'per s': number
  /** Answers other than 2xx: a server that has too much to do refuses. */
  failed: number
  'p50 ms': number
  'p99 ms': number
  'server CPU ms': number
  'Postgres CPU ms': number
}

/**
 * Measures the same requests beside more and more people, in a larger and larger tenant, and over more and more connections.
 * `users` and `members` are sizes in ascending order.
 */
export async function measureCurves(
  {
    seconds,
    users,
    members,
    connections,
  }: { seconds: number } & Record<'users' | 'members' | 'connections', number[]>,
  say: (line: string) => void,
): Promise<Point[]> {
  const stage = await openStage(32)
  try {
    const { superuserUrl } = await startEmbeddedPostgres({ dataDir: stage.config.DATA_DIR })
    const database = new URL(stage.config.DATABASE_API_URL!).pathname
    const url = Object.assign(new URL(superuserUrl), { pathname: database }).href
    const points: Point[] = []
    const measure = async (curve: string, size: number, request: string, clients?: number) => {
      const point = await measurePoint(await freshTokens(stage), { curve, size, request, seconds, clients })
      points.push(point)
      say(`${curve} ${size}, ${request}: ${point['p50 ms']} ms`)
    }
    for (const size of connections) await measure('connections', size, 'me', size)
    const [own, crowded] = stage.accounts.map((account) => callerOf(account).tenantId) as [string, string]
    await grow(
      members,
      (size) => crowd(url, { id: own, size, since: Date.UTC(2026, 0, 1) }),
      async (size) => {
        for (const request of ['first page', 'last page', 'search', 'new name'])
          await measure('members', size, request)
      },
    )
    await grow(
      users,
      (size) => crowd(url, { id: crowded, size, since: Date.UTC(2026, 0, 1) }),
      async (size) => {
        for (const request of ['me', 'login']) await measure('users', size, request)
      },
    )
    return points
  } finally {
    await stage.close()
  }
}

const atMost = 100_000

/** Adds people up to each size, in parts that one statement may take the time for, and measures there. */
async function grow(
  sizes: number[],
  add: (size: number) => Promise<unknown>,
  measure: (size: number) => Promise<void>,
) {
  let now = 0
  for (const size of sizes) {
    for (; now < size; now = Math.min(size, now + atMost)) await add(Math.min(atMost, size - now))
    await measure(size)
  }
}

/** The owner of the large tenant asks alone for its members, and changes their own name; everyone else asks about themselves. */
function loadOf(
  { accounts }: Stage,
  request: string,
  clients = accounts.length,
): Omit<Load, 'url' | 'seconds'> {
  const bearer = (access: string) => ({ authorization: `Bearer ${access}` })
  const some = Array.from({ length: clients }, (_none, index) => accounts[index % accounts.length]!)
  if (request === 'me')
    return {
      method: 'GET',
      path: '/api/v1/users/me/',
      accounts: some.map(({ access }) => ({ headers: bearer(access), body: '' })),
    }
  if (request === 'login')
    return {
      method: 'POST',
      path: '/api/v1/auth/login/',
      accounts: some.slice(0, 8).map(({ email, password }) => ({
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email, password }),
      })),
    }
  const [owner] = accounts as [Stage['accounts'][number]]
  if (request === 'new name')
    return {
      method: 'PATCH',
      path: '/api/v1/users/me/',
      accounts: ['Ada', 'Grace'].map((name) => ({
        headers: { ...bearer(owner.access), 'content-type': 'application/json' },
        body: JSON.stringify({ first_name: name }),
      })),
    }
  const query =
    { 'first page': '', 'last page': '?ordering=-created_at', search: '?search=first7' }[request] ?? ''
  return {
    method: 'GET',
    path: `/api/v1/tenants/${callerOf(owner).tenantId}/members/${query}`,
    accounts: Array.from({ length: 8 }, () => ({ headers: bearer(owner.access), body: '' })),
  }
}

async function measurePoint(
  stage: Stage,
  {
    curve,
    size,
    request,
    seconds,
    clients,
  }: { curve: string; size: number; request: string; seconds: number; clients: number | undefined },
): Promise<Point> {
  const { url, pid } = stage.servers.api
  const load = loadOf(stage, request, clients)
  await generate({ ...load, url, seconds: 1 })
  const before = { server: cpuOf(pid), postgres: cpuOfTree(stage.postgresPid) }
  const loaded = await generate({ ...load, url, seconds })
  const each = (ms: number) => rounded(ms / Math.max(1, loaded.requests))
  return {
    curve,
    size,
    request,
    'per s': rounded(loaded.perSecond),
    failed: loaded.failed,
    'p50 ms': rounded(loaded.p50),
    'p99 ms': rounded(loaded.p99),
    'server CPU ms': each(cpuOf(pid) - before.server),
    'Postgres CPU ms': each(cpuOfTree(stage.postgresPid) - before.postgres),
  }
}

const rounded = (value: number) => Number(value.toPrecision(3))
