import type { Context } from 'koa'
import type { Sealer } from '../crypto/seal.ts'
import type { TokenSigner } from '../crypto/token-signer.ts'
import type { Read } from '../database/executor/read.ts'
import type { Databases } from '../database/executor/transaction.ts'
import type { LogQuota } from '../database/log-quota.ts'
import type { ApiError } from '../errors.ts'
import type { HoldBytes } from '../limits/body-bytes.ts'
import type { DecisionPace } from '../limits/decision-time.ts'
import type { KeyedSemaphore } from '../limits/keyed-semaphore.ts'
import type { ActionName } from '../policy-engine/catalogue/actions.ts'
import type { Decision } from '../policy-engine/evaluate/decision.ts'
import type { AccessEngine } from '../policy-engine/evaluate/engine.ts'
import type { DecisionQuery } from '../policy-engine/evaluate/query.ts'
import type { AuthContext, Caller, LoadAuthContext } from './caller.ts'
import type { Approvals } from './change/approvals.ts'
import type { DecisionLog, PoliciesInForce, PolicyCache } from './policies-in-force.ts'
import type { ApiKeys, CallLimits } from './ports.ts'
import type { Route, RouteInput } from './route.ts'

/** A route whose requests are decided by an action. */
export type DecidedRoute = Route & { action: ActionName }

/** The validated input of a request, without its token. */
export type Input = Omit<RouteInput<unknown, unknown, Caller>, 'caller'> & {
  /** From `Approval-Request`: the id of the approval request that the caller names; null when there is none. */
  approvalId: string | null
  /** Whether a call that needs an approval asks for it; else the refusal says only that it does. */
  asksApproval: boolean
  /** From `Idempotency-Key`; null where the route does not honour it. */
  idempotencyKey: string | null
  /** From `Prefer: respond-async` (RFC 7240): a call that needs an approval is stored, and carried out when it is approved. */
  respondAsync: boolean
}

/** The validated input, or its first fault. */
export type Received = { input: Input } | { fault: ApiError }

/** The reads of a request, under way. */
export interface Loading {
  /** The tenant of the request: the token's, or the path's. */
  tenantId: string
  auth: Promise<AuthContext | null>
  /** Gives what the route loads. It can reject with 404. */
  loaded(): Promise<unknown>
}

/** A request with a known caller. The steps of request-path.ts work on it. */
export interface RequestContext {
  readonly http: Pick<Context, 'path' | 'set'> & { state: Record<string, unknown> }
  readonly route: DecidedRoute
  /** Read again after slow work, with the policies: see `refreshCaller`. */
  caller: Caller
  /** Reads the auth context of the caller as it is now. */
  readonly readAuth: (read: Read) => Promise<AuthContext | null>
  /** The tenant's policies at the revision that was read with the caller; null outside any tenant. */
  policies: PoliciesInForce | null
  /** The same request with the action that reads what is shown, for a route that names one. */
  reading: RequestContext | null
  /** The time (ms since 1970) of every decision about this request. */
  readonly now: number
  /** The last decision. Its obligations apply to the answer, and it is logged. Null until the route is decided. */
  decided: { query: DecisionQuery; decision: Decision } | null
  /** Whether the log has the last decision: a change stores it in its own transaction. */
  isLogged: boolean
}

/** What the steps need from the process. */
export interface PathDeps {
  access: AccessEngine
  newPace: () => DecisionPace
  approvals: Approvals
  apiKeys: ApiKeys
  callLimits: CallLimits
  holdBytes: HoldBytes
  config: LogQuota
  /** ms since 1970 */
  clock: () => number
  publicUrl: () => string
  db: Pick<Databases, 'api' | 'replica'>
  loadAuthContext: LoadAuthContext
  policyCache: PolicyCache
  decisionLog: DecisionLog
  sealer: Sealer
  signer: TokenSigner
  semaphores: { perTenant: KeyedSemaphore }
}
