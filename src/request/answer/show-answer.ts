import { Accepted } from '../change/approvals.ts'
import { decide, shownResource } from '../decide.ts'
import { assertAllAllowed, type Permit, permit, stepUpFirst } from '../permit.ts'
import type { PathDeps, RequestContext } from '../request-context.ts'
import { DecidedPage } from './decided-page.ts'
import { mapBody } from './etag.ts'
import { applyObligations } from './obligations.ts'
import { viewRows } from './row-view.ts'

/** The part of an answer that the caller can see: denied rows are left out, masked fields are null. Throws 401, 403. */
export async function showAnswer(deps: PathDeps, request: RequestContext, answer: unknown): Promise<unknown> {
  // Each of its items was decided by itself, and the results are no rows.
  if (request.route.kind === 'bulk') return answer
  if (answer instanceof DecidedPage) return answer.body
  if (answer instanceof Accepted) return answer
  if (isPage(answer)) return { ...answer, results: await shownRows(deps, request, answer.results) }
  return mapBody(answer, (body) => shownObject(deps, request, body))
}

function shownObject(deps: PathDeps, request: RequestContext, body: unknown): unknown {
  let shown = body
  assertAllAllowed(request, (one) => {
    const permitted = permitBody(deps, one, body)
    if (permitted.effect !== 'allow') return permitted
    const { decision } = one.decided!
    const carried = applyObligations(decision, one.caller.auth.session, one.now, shown)
    if ('due' in carried) return stepUpFirst(one, decision, carried.due)
    shown = carried.shown
    return permitted
  })
  return shown
}

/** The permit for an answer: a provisional decision is made on it. */
function permitBody(deps: PathDeps, one: RequestContext, body: unknown): Permit {
  if (!one.decided!.decision.provisional) return { effect: 'allow', approvalId: null }
  return permit(one, decide(deps, one, 'resource', shownResource(one, body)))
}

async function shownRows(deps: PathDeps, request: RequestContext, rows: unknown[]): Promise<unknown[]> {
  const visible = await viewRows(deps, request).visible(rows.map((row) => ({ row })))
  return visible.flatMap((row) => (row ? [row.shown] : []))
}

interface Page {
  results: unknown[]
}

const isPage = (body: unknown): body is Page => Array.isArray((body as Partial<Page> | null)?.results)
