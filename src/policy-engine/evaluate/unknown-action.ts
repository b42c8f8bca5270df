import { isApplicationAction } from '../catalogue/actions.ts'
import type { Decision } from './decision.ts'
import type { AnyQuery } from './query.ts'

/** Whether the action of a query is neither one of the service nor possible for an application. */
export const hasUnknownAction = (query: AnyQuery): boolean =>
  'application' in query && !isApplicationAction(query.action)

/** No role and no policy can permit an unknown action, so the module is not asked. */
export const unknownAction: Decision = {
  effect: 'deny',
  reasons: [{ code: 'unknown_action', layer: 'rbac' }],
  matched: [],
  obligations: [],
  approval: null,
  provisional: false,
  durationUs: 0,
}
