import { Accepted } from './approvals.ts'
import { decide, shownResource } from './decide.ts'
import { DecidedPage } from './lists.ts'
import { applyObligations } from './obligations.ts'
import { assertAllowed, permit, stepUpFirst } from './permit.ts'
import type { PathDeps, RequestContext } from './request-context.ts'
import { mapBody } from './respond.ts'
import { viewRows } from './row-view.ts'

/** The part of an answer that the caller can see: denied rows are left out, masked fields are null. Throws 401, 403. */
export async function showAnswer(deps: PathDeps, request: RequestContext, answer: unknown): Promise<unknown> {
  if (answer instanceof DecidedPage) return answer.body
  if (answer instanceof Accepted) return answer
  if (isPage(answer)) return { ...answer, results: await shownRows(deps, request, answer.results) }
  return mapBody(answer, (body) => shownObject(deps, request, body))
}

function shownObject(deps: PathDeps, request: RequestContext, body: unknown): unknown {
  if (request.decided!.decision.provisional)
    assertAllowed(permit(request, decide(deps, request, 'resource', shownResource(request, body))))
  const { decision } = request.decided!
  const carried = applyObligations(decision, request.caller.auth.session, request.now, body)
  if ('shown' in carried) return carried.shown
  return assertAllowed(stepUpFirst(request, decision, carried.due))
}

async function shownRows(deps: PathDeps, request: RequestContext, rows: unknown[]): Promise<unknown[]> {
  const visible = await viewRows(deps, request).visible(rows.map((row) => ({ row })))
  return visible.flatMap((row) => (row ? [row.shown] : []))
}

interface Page {
  results: unknown[]
}

const isPage = (body: unknown): body is Page => Array.isArray((body as Partial<Page> | null)?.results)
