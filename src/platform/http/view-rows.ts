import { shownResource, weigh } from './decide.ts'
import { denyBecause } from './permit.ts'
import type { PathDeps, RequestContext } from './request-context.ts'
import { type RowView, rowView } from './row-view.ts'

/** How the rows of the request's list are seen, by what was decided so far. */
export function viewRows(deps: PathDeps, request: RequestContext): RowView {
  if (!request.decided) throw new Error('A list was shown before anything was decided')
  const { decision } = request.decided
  const decideRow = (row: unknown) => weigh(deps, request, 'resource', shownResource(request, row)).decision
  const refuseFor = (parameter: string) =>
    denyBecause(request, 'masked_field', decision, ` Ask without ${parameter}.`).refusal
  const { session } = request.caller.auth
  return rowView(decision, { decideRow, pace: deps.newPace() }, refuseFor, session, request.now)
}
