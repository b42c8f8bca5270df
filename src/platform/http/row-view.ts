import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import type { ApiError } from '../errors.ts'
import { evaluate, shownResource } from './decide.ts'
import { applyObligations, maskedFields } from './obligations.ts'
import { denyBecause } from './permit.ts'
import type { PathDeps, RequestContext } from './request-context.ts'

/** What the caller can see of the rows of a list. */
export interface RowView {
  /** True when a policy can withhold rows. The answer then has no count. */
  readonly selective: boolean
  /** Paths of the fields that are masked for the caller, in all rows or in some. */
  readonly masked: readonly string[]
  /** Each row as the caller can see it; null for a withheld row. */
  visible(rows: readonly unknown[]): Promise<(Visible | null)[]>
  /** 403 for a query parameter that would reveal what a masked field holds. */
  refuse(parameter: string): ApiError
}

export interface Visible {
  shown: unknown
}

/**
 * The row view of the request's list. The last decision holds for all rows; if it is provisional, each row is decided.
 */
export function viewRows(deps: PathDeps, request: RequestContext): RowView {
  if (!request.decided) throw new Error('A list was shown before the route was decided')
  const { decision } = request.decided
  const pace = deps.newPace()
  const decideRow = async (row: unknown): Promise<Decision> => {
    if (!decision.provisional) return decision
    await pace.next()
    return evaluate(deps, request, 'resource', shownResource(request, row)).decision
  }
  return {
    selective: decision.provisional,
    masked: maskedFields(decision.obligations),
    async visible(rows) {
      const visible: (Visible | null)[] = []
      for (const row of rows) visible.push(visibleRow(request, await decideRow(row), row))
      return visible
    },
    refuse: (parameter) =>
      denyBecause(request, 'masked_field', decision, ` Ask without ${parameter}.`).refusal,
  }
}

/** Null for a row that is denied, or that needs a step-up which the session does not meet. */
function visibleRow({ caller, now }: RequestContext, decision: Decision, row: unknown): Visible | null {
  const carried = decision.effect === 'allow' && applyObligations(decision, caller.auth.session, now, row)
  return carried && 'shown' in carried ? carried : null
}
