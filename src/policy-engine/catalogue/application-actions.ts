import { isApplicationAction, isPolicyAction, serviceResources } from './actions.ts'

/** Whether a policy action covers application actions only. */
export function namesOnlyApplicationActions(name: string): boolean {
  return (
    isApplicationAction(name) ||
    (name !== '*' && isPolicyAction(name) && !serviceResources.has(name.split(':')[0]!))
  )
}
