import type { Context } from 'koa'
import type { ActionName } from '../../policy-engine/catalogue/actions.ts'
import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import type { AccessEngine } from '../../policy-engine/evaluate/engine.ts'
import type { DecisionQuery } from '../../policy-engine/evaluate/query.ts'
import type { TokenSigner } from '../crypto/token-signer.ts'
import type { Databases } from '../db/transaction.ts'
import type { DecisionPace } from '../decision-budget.ts'
import type { KeyedSemaphore } from '../keyed-semaphore.ts'
import type { Approvals } from './approvals.ts'
import type { CallBudget } from './authenticate.ts'
import type { Caller, LoadAuthContext } from './caller.ts'
import type { LoadPolicies, PoliciesInForce, RecordDecision } from './policies-in-force.ts'
import type { Ask, Route } from './route.ts'

/** A route whose requests are decided: every one but those without a token. */
export type DecidedRoute = Route & { action: ActionName }

/** What a request carries beside its token, validated. */
export type Input = Omit<Ask<unknown, unknown, Caller>, 'caller'> & {
  /** Of `Approval-Request`: the id of the request that the caller says was approved; null where there is none. */
  approvalId: string | null
}

/** One request with a token, once its caller is known. The steps of request-path.ts work on it in their order. */
export interface RequestContext {
  readonly http: Context
  readonly route: DecidedRoute
  readonly caller: Caller
  /** The tenant's policies at the revision that was read with the caller; null outside of any tenant. */
  readonly policies: PoliciesInForce | null
  /** ms since 1970: that of every decision about this request. */
  readonly now: number
  /**
   * The last decision: its obligations bind the answer, and it is what the log keeps. Null until the route is decided.
   */
  decided: { query: DecisionQuery; decision: Decision } | null
}

/** What the steps need of the process. */
export interface PathDeps {
  access: AccessEngine
  newPace: () => DecisionPace
  approvals: Approvals
  budget: CallBudget
  /** ms since 1970 */
  clock: () => number
  db: Pick<Databases, 'api'>
  loadAuthContext: LoadAuthContext
  loadPolicies: LoadPolicies
  recordDecision: RecordDecision
  signer: TokenSigner
  semaphores: { perTenant: KeyedSemaphore }
}
