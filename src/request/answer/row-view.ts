import { type ActionName, actions } from '../../policy-engine/catalogue/actions.ts'
import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import type { DetailReader, RowToDecide, RowView, Visible } from '../caller.ts'
import { decidersOf, evaluate, resourceIn, shownResource } from '../decide.ts'
import { denyBecause } from '../permit.ts'
import type { PathDeps, RequestContext } from '../request-context.ts'
import { collectionOf } from '../route-resources.ts'
import { applyObligations, maskedFields, stepUpDue } from './obligations.ts'

/**
 * The row view of the request's list: a row is visible if its detail is, and if no policy withholds it from the list. The
 * last decision of each action holds for all rows; if it is provisional, each row is decided.
 */
export function viewRows(deps: PathDeps, request: RequestContext): RowView {
  const deciders = decidersOf(request)
  const deciding =
    request.reading && isDecidedWith(deps, request, request.reading) ? [request.reading] : deciders
  const pace = deps.newPace()
  const decideRow = async (one: RequestContext, { row, resource }: RowToDecide): Promise<Decision> => {
    const { decision } = decidedOf(one)
    if (!decision.provisional) return decision
    await pace.next()
    return evaluate(deps, one, 'resource', resource ? resourceIn(one, resource) : shownResource(one, row))
      .decision
  }
  const view = async (row: RowToDecide): Promise<Visible | null> => {
    let visible: Visible | null = row.resource === null ? null : { shown: row.row }
    for (const one of deciding)
      visible = visible && visibleRow(request, await decideRow(one, row), visible.shown)
    return visible
  }
  return {
    selective: deciders.some((one) => decidedOf(one).decision.provisional),
    masked: deciders.flatMap(maskedBy),
    async visible(rows) {
      const visible: (Visible | null)[] = []
      for (const row of rows) visible.push(await view(row))
      return visible
    },
    refuse(parameter) {
      const masking = deciders.find((one) => maskedBy(one).length > 0) ?? request
      const { decision } = decidedOf(masking)
      const { refusal } = denyBecause(masking, 'masked_field', decision, ` Ask without ${parameter}.`)
      request.decided = masking.decided
      return refusal
    },
  }
}

const maskedBy = (one: RequestContext) => maskedFields(decidedOf(one).decision.obligations)

function decidedOf({ decided }: RequestContext) {
  if (!decided) throw new Error('A list was shown before the route was decided')
  return decided
}

/**
 * Whether the decision about a row by the action of its detail is also that by the action of the list, so that one of
 * them is enough: both have the same policies, and nothing else tells the two actions apart.
 */
function isDecidedWith({ access }: PathDeps, list: RequestContext, detail: RequestContext): boolean {
  const [{ query, decision }, other] = [decidedOf(list), decidedOf(detail)]
  const { slice } = query
  const [one, two] = [actions[list.route.action], actions[detail.route.action]]
  return (
    decision.provisional &&
    other.decision.provisional &&
    slice === other.query.slice &&
    slice.modules.length === 0 &&
    !('action.name' in slice.attributes) &&
    !access.bundle.isExtended &&
    one.widen === two.widen &&
    one.exempt === two.exempt
  )
}

/** Null for a row that is denied, or that needs a step-up which the session does not meet. */
function visibleRow({ caller, now }: RequestContext, decision: Decision, row: unknown): Visible | null {
  const carried = decision.effect === 'allow' && applyObligations(decision, caller.auth.session, now, row)
  return carried && 'shown' in carried ? carried : null
}

/** Reads objects as their detail's action would show them. Its decision holds for all of them, unless it is provisional. */
export function detailReader(deps: PathDeps, request: RequestContext, action: ActionName): DetailReader {
  const asked = { ...request, route: { ...request.route, action } }
  const { session } = request.caller.auth
  const shownBy = ({ effect, obligations }: Decision) =>
    effect === 'allow' && !stepUpDue(obligations, session, request.now) ? maskedFields(obligations) : null
  const forAll = evaluate(deps, asked, 'route', collectionOf(asked.route, request.caller)).decision
  // Own objects can be granted, and open to keys without the scope: then it depends on the object.
  const { self, own } = actions[action]
  if (!forAll.provisional && !self && own.length === 0) return () => shownBy(forAll)
  return (resource) =>
    resource && shownBy(evaluate(deps, asked, 'resource', resourceIn(asked, resource)).decision)
}
