import type { Context } from 'koa'
import { actions } from '../access/actions.ts'
import type { Decision } from '../access/decision.ts'
import type { GrantedApproval, Resource } from '../access/query.ts'
import type { Tx } from '../db/transaction.ts'
import { ApiError, invalidField } from '../errors.ts'
import {
  ApprovalNeeded,
  type Approvals,
  approvalInvalid,
  approvalRequired,
  type GuardedCall,
  type Presented,
} from './approval-gate.ts'
import type { Bearer } from './authenticate.ts'
import type { Route } from './route.ts'

// A gate is met where the call is decided, often inside of the verb's transaction, which has to roll back before the
// request for an approval is written. So it leaves the verb as an ApprovalNeeded, and is settled here.
//
// An approval is used up by the transaction that makes the change: at its end, where the change is known and is rolled
// back if somebody else used the approval meanwhile. A transaction that wrote nothing is not it.

/** The gate of one call. */
export interface CallGate {
  /** Binds the gate to the validated body, and looks up what `Approval-Request` names; 400 where that is no id. */
  bind(body: unknown): Promise<void>
  /** What was approved about this resource. */
  approvalFor(resource: Resource): GrantedApproval | null
  /** Whether somebody else could approve, as far as is known. */
  othersCanApprove(): boolean
  /** Lets a decision that is no denial pass, or throws. */
  pass(decision: Decision, resource: Resource): void
  /** Notes that the call may go on: whatever is written from now on uses the approval up. */
  arm(): void
  beforeCommit(tx: Tx): Promise<void>
  /** Runs a verb to its end; what the gate makes of its failure is thrown. */
  through<T>(verb: () => Promise<T>, refuse: Refuse): Promise<T>
}

const idForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** What a gate is made of; `decisionId` is the id of whatever is decided about the call. */
interface Of {
  ctx: Context
  route: Route
  bearer: Bearer
  decisionId: string
  now: number
}

/** Makes the gate of a call; one whose action no policy may gate is always open. */
export function callGate(approvals: Approvals, { ctx, route, bearer, decisionId, now }: Of): CallGate {
  const action = route.action === 'public' ? null : route.action
  const mendable = action !== null && actions[action].shield === 'owner' && isOwner(bearer)
  let call: GuardedCall | undefined
  let named: { id: string; presented: Presented } | undefined
  let alone = false
  let armed = false

  const bound = () => {
    if (!call) throw new Error('A gate was met before the call was read')
    return call
  }
  const isAbout = ({ type, id }: Resource) =>
    named?.presented?.resource.type === type && named.presented.resource.id === id
  const through = async <T>(verb: () => Promise<T>, refuse: Refuse): Promise<T> => {
    try {
      const answer = await verb()
      if (armed && named) await approvals.useAlone(bound(), named.id)
      return answer
    } catch (error) {
      if (!(error instanceof ApprovalNeeded)) throw await overtaken(error)
      await request(error, refuse)
      return through(verb, refuse)
    }
  }
  /** Throws 403, but for an owner who alone could mend the policies: to them the gate is open from now on. */
  const request = async ({ decision, resource }: ApprovalNeeded, refuse: Refuse) => {
    const open = await approvals.request(bound(), { resource, decision, mends: mendable })
    if (open) throw approvalRequired(decision, decisionId, open)
    if (!mendable || alone) throw refuse(decision)
    alone = true
  }
  /** Of those who use one approval at the same time the losers meet what the winner did; they are told why. */
  const overtaken = async (error: unknown) => {
    if (!armed || !named || !(error instanceof ApiError) || error.status >= 500) return error
    const presented = await approvals.find(bound(), named.id)
    return presented && 'approval' in presented ? error : approvalInvalid()
  }

  return {
    async bind(body) {
      if (action === null || !actions[action].gate) return
      const { tenantId, userId } = bearer
      const place = { method: route.method, path: ctx.path }
      const sent = { email: bearer.auth.user.email, body: route.body ? body : null }
      call = {
        tenantId,
        userId,
        ...sent,
        requestInfo: ctx.state.requestInfo,
        action,
        ...place,
        decisionId,
        now,
      }
      const id = namedId(ctx)
      if (id !== null) named = { id, presented: await approvals.find(call, id) }
    },
    approvalFor: (resource) =>
      isAbout(resource) && named?.presented && 'approval' in named.presented
        ? named.presented.approval
        : null,
    othersCanApprove: () => !alone,
    pass(decision, resource) {
      if (named && !isAbout(resource)) throw approvalInvalid()
      if (named?.presented && 'pending' in named.presented)
        throw approvalRequired(decision, decisionId, named.presented.pending)
      if (decision.effect === 'require_approval') throw new ApprovalNeeded(decision, resource)
    },
    arm() {
      armed = named !== undefined
    },
    async beforeCommit(tx) {
      if (armed && named) await approvals.use(tx, bound(), named.id)
    },
    through,
  }
}

/** Says no where nobody could be asked. */
type Refuse = (decision: Decision) => ApiError

const isOwner = ({ auth }: Bearer) => auth.membership?.systemRoles.includes('owner') ?? false

function namedId(ctx: Context): string | null {
  const text = ctx.get('approval-request').trim().toLowerCase()
  if (text === '') return null
  if (idForm.test(text)) return text
  throw invalidField('Approval-Request', 'Name one approval request by its id.')
}
