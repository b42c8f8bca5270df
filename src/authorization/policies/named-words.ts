import { isServiceAction, serviceResources } from '../../policy-engine/catalogue/actions.ts'
import type { CompiledPolicy } from '../../policy-engine/compile/compiled-policy.ts'

/** Whether anything names an action (itself, or as `resource:*`) and a type of resource. */
export interface Named {
  action: boolean
  resourceType: boolean
}

/** What the policies name. A policy about `*` names nothing, so that a misspelling is not taken for a word. */
export function namedByPolicies(policies: readonly Pick<CompiledPolicy, 'actions' | 'resourceTypes'>[]) {
  const actions = new Set(policies.flatMap((policy) => policy.actions))
  const types = new Set(policies.flatMap((policy) => policy.resourceTypes))
  for (const action of actions) if (action !== '*') types.add(action.slice(0, action.indexOf(':')))
  return (action: string, resourceType: string): Named => ({
    action: isServiceAction(action) || actions.has(action) || actions.has(wildcardOf(action)),
    resourceType: serviceResources.has(resourceType) || types.has(resourceType),
  })
}

/** The permission that stands for all verbs of an action's resource. */
export const wildcardOf = (action: string): string => `${action.slice(0, action.indexOf(':'))}:*`
