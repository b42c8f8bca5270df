import { atOnce } from '../database/executor/batch.ts'
import { isDatabaseUnavailable } from '../database/executor/database-errors.ts'
import { type Read, readInTenant } from '../database/executor/read.ts'
import { workBudget } from '../limits/work-budget.ts'
import { createLruCache } from '../policy-engine/lru-cache.ts'
import { type AuthContext, type Bearer, boundKinds, type Claims } from './caller.ts'
import { pathId } from './path-id.ts'
import type { Input, Loading, PathDeps } from './request-context.ts'
import type { AnyLoadInput, Route } from './route.ts'

/**
 * Reads the caller's auth context and what the route loads, in one round trip, with the policies if they are not in
 * memory. The tenant of a path is the caller's
 * choice: what lies in another tenant than the token's is loaded only after the caller was found to be inside. Throws
 * 404 for a malformed id of a tenant.
 */
export function loadRequest(
  deps: PathDeps,
  route: Route,
  claims: Claims,
  params: Params,
  input: Input | null,
): Loading {
  const tenantId = route.scope === 'token' ? claims.tenantId : pathId(params.id)
  // Keys, impersonations and applications act in their own tenant alone: authenticate() refuses the path of another one.
  const isBound = boundKinds[claims.token] !== undefined
  const bearer = { ...claims, tenantId: isBound ? claims.tenantId : tenantId }
  const load =
    input && 'load' in route && route.kind !== 'change' ? loadOf(route, { ...input, caller: bearer }) : null
  const fromReplica = route.fromReplica && deps.db.replica !== undefined
  const loadsAtOnce = load !== null && tenantId === claims.tenantId && !fromReplica && !route.scansRows
  const canBeSlow = loadsAtOnce && input !== null && !loadsByKeys(route, input.query)
  const caller = `${bearer.userId} ${tenantId}`
  let isSlow = canBeSlow || slowCallers.get(caller) === true
  const by = () => (isSlow ? 'read' : 'readShared')
  const { auth, together } = atOnce(deps.db.api, { scope: bearer, by }, (read) => {
    const auth = deps.loadAuthContext(read, bearer)
    if (tenantId === claims.tenantId && deps.policyCache.ask(read, bearer)) isSlow = true
    return { auth, together: loadsAtOnce ? load(read) : null }
  })
  auth.then((found) => noteSlow(caller, found)).catch(() => undefined)
  // The route's rows are asked for before the caller is known. If they fail first, nothing awaits them yet.
  together?.catch(() => undefined)
  return {
    tenantId,
    auth,
    loaded: async () => {
      if (together || !load) return together
      const later = () => (fromReplica ? readReplica : readInTenant)(deps.db, bearer, load)
      return route.scansRows ? workBudget.inTurn('reads', bearer, later) : later()
    },
  }
}

/**
 * Reads from the replica, and from the primary while the replica is away. The caller was read from the primary before: an ended
 * session, or a role taken away, has its effect at once.
 */
async function readReplica<T>(
  db: PathDeps['db'],
  scope: Bearer,
  load: (read: Read) => Promise<T>,
): Promise<T> {
  try {
    return await readInTenant({ api: db.replica ?? db.api }, scope, load)
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error
    return readInTenant(db, scope, load)
  }
}

/** Callers with so many permissions that reading them takes ms: others do not wait behind them. */
const slowCallers = createLruCache<true>(10_000)
const manyPermissions = 1_000

function noteSlow(caller: string, auth: AuthContext | null): void {
  if ((auth?.membership?.permissions.length ?? 0) > manyPermissions) slowCallers.set(caller, true, 1)
}

type Params = Record<string, string>

/** The parameters of a page: it is found by the key of its list. */
const paging: ReadonlySet<string> = new Set(['page_size', 'cursor'])

/** Whether a load finds a few rows by their keys: not with a search or a filter, nor with what a body can ask for. */
const loadsByKeys = ({ method, loadsByKeys: said }: Route, query: unknown): boolean =>
  (method === 'GET' || said === true) &&
  Object.entries(query ?? {}).every(([name, value]) => value === undefined || paging.has(name))

/** A load that rejects where it throws. */
const loadOf =
  ({ load }: Route & { kind: 'handle' | 'resource' }, input: AnyLoadInput) =>
  async (read: Read) =>
    load?.(read, input)
