import type { Deps } from '../../deps.ts'
import { isAction, wildcardOf } from '../../policy-engine/catalogue/actions.ts'
import type { Decision, Reason } from '../../policy-engine/evaluate/decision.ts'
import type { Caller } from '../../request/caller.ts'
import type { PoliciesInForce, UnknownWords } from '../../request/policies-in-force.ts'
import type { LoadedEvaluation, LoadedEvaluations } from './load-evaluations.ts'
import type { Words } from './store.ts'

/** An evaluation with the words that nothing in the tenant names. */
export type HintedEvaluation = LoadedEvaluation & { unknown: UnknownWords }

/**
 * Finds the words of evaluations that no policy in force, no role and no manifest names: often misspellings. Roles and manifests are
 * read only for words that no policy names. If they cannot be read, only what can be no action is unknown.
 */
export async function findUnknownWords(
  deps: Pick<Deps, 'declaredWords' | 'wordsInRoles'>,
  caller: Caller,
  { policies, evaluations }: LoadedEvaluations,
): Promise<HintedEvaluation[]> {
  const hinted = evaluations.map((one) => ({ ...one, unknown: notInPolicies(policies, one) }))
  if (!areDoubtful(hinted)) return hinted
  try {
    const inRoles = await deps.wordsInRoles(caller, policies.revision, doubtfulWords(hinted))
    const left = hinted.map((one) => without(one, inRoles))
    if (!areDoubtful(left)) return left
    const declared = await deps.declaredWords(caller)
    return left.map((one) => withRegisteredType(without(one, declared)))
  } catch {
    return hinted.map((one) => ({ ...one, unknown: { action: !isAction(one.action), resourceType: false } }))
  }
}

/**
 * The decision with the words that nothing names among the reasons of a denial. They come first where nothing permits the
 * action, because they are why.
 */
export function withUnknownWords(decision: Decision, unknown: UnknownWords): Decision {
  if (decision.effect !== 'deny' || !(unknown.action || unknown.resourceType)) return decision
  const words: Reason[] = [
    ...(unknown.action ? [{ code: 'unknown_action', layer: 'rbac' } as const] : []),
    ...(unknown.resourceType ? [{ code: 'unknown_resource_type', layer: 'rbac' } as const] : []),
  ]
  const others = decision.reasons.filter(({ code }) => code !== 'unknown_action')
  const isUngranted = others.every(({ code, layer }) => layer === 'rbac' || code === 'policy_not_met')
  return { ...decision, reasons: isUngranted ? [...words, ...others] : [...others, ...words] }
}

function notInPolicies(policies: PoliciesInForce, { action, evaluation }: LoadedEvaluation): UnknownWords {
  const named = policies.names(action, evaluation.resource.type)
  return { action: !isAction(action) || !named.action, resourceType: !named.resourceType }
}

const isDoubtfulAction = ({ action, unknown }: HintedEvaluation) => unknown.action && isAction(action)

const areDoubtful = (all: readonly HintedEvaluation[]) =>
  all.some((one) => one.unknown.resourceType || isDoubtfulAction(one))

const doubtfulWords = (all: readonly HintedEvaluation[]): Words => ({
  actions: all.filter(isDoubtfulAction).map(({ action }) => action),
  types: all.filter(({ unknown }) => unknown.resourceType).map(({ evaluation }) => evaluation.resource.type),
})

function without(one: HintedEvaluation, words: ReadonlySet<string>): HintedEvaluation {
  const { action, evaluation, unknown } = one
  const isNamed = isAction(action) && (words.has(action) || words.has(wildcardOf(action)))
  return {
    ...one,
    unknown: {
      action: unknown.action && !isNamed,
      resourceType: unknown.resourceType && !words.has(evaluation.resource.type),
    },
  }
}

/** A registered resource is of a type that exists. */
function withRegisteredType(one: HintedEvaluation): HintedEvaluation {
  const isRegistered = typeof one.object === 'object' && 'registered' in one.object
  return isRegistered ? { ...one, unknown: { ...one.unknown, resourceType: false } } : one
}
