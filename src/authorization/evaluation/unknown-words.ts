import type { Deps } from '../../deps.ts'
import type { Caller } from '../../platform/http/caller.ts'
import type { PoliciesInForce, UnknownWords } from '../../platform/http/policies-in-force.ts'
import { wildcardOf } from '../../policy-engine/catalogue/actions.ts'
import type { LoadedQuestion, LoadedQuestions } from './load-questions.ts'

/** A question with the words that nothing in the tenant names. */
export type HintedQuestion = LoadedQuestion & { unknown: UnknownWords }

/**
 * Finds the words of questions that no policy in force, no role and no manifest names: often misspellings. Roles and manifests are
 * read only for words that no policy names. Without an answer from them there are no hints.
 */
export async function findUnknownWords(
  deps: Pick<Deps, 'declaredWords' | 'wordsInRoles'>,
  caller: Caller,
  { policies, questions }: LoadedQuestions,
): Promise<HintedQuestion[]> {
  const hinted = questions.map((one) => ({ ...one, unknown: notInPolicies(policies, one) }))
  const doubtful = hinted.filter(({ unknown }) => unknown.action || unknown.resourceType)
  if (doubtful.length === 0) return hinted
  try {
    const inRoles = await deps.wordsInRoles(caller, policies.revision, {
      actions: doubtful.map(({ action }) => action),
      types: doubtful.map(({ question }) => question.resource.type),
    })
    const isInRoles = (...words: string[]) => words.some((word) => inRoles.has(word))
    const left = hinted.map((one) => without(one, isInRoles))
    if (!left.some(({ unknown }) => unknown.action || unknown.resourceType)) return left
    const declared = await deps.declaredWords(caller)
    const isDeclared = (...words: string[]) => words.some((word) => declared.has(word))
    return left.map((one) => withRegisteredType(without(one, isDeclared)))
  } catch {
    return questions.map((one) => ({ ...one, unknown: { action: false, resourceType: false } }))
  }
}

function notInPolicies(policies: PoliciesInForce, { action, question: { resource } }: LoadedQuestion) {
  const named = policies.names(action, resource.type)
  return { action: !named.action, resourceType: !named.resourceType }
}

function without(one: HintedQuestion, isNamed: (...words: string[]) => boolean): HintedQuestion {
  const { action, question, unknown } = one
  return {
    ...one,
    unknown: {
      action: unknown.action && !isNamed(action, wildcardOf(action)),
      resourceType: unknown.resourceType && !isNamed(question.resource.type),
    },
  }
}

/** A registered resource is of a type that exists. */
function withRegisteredType(one: HintedQuestion): HintedQuestion {
  const isRegistered = typeof one.object === 'object' && 'registered' in one.object
  return isRegistered ? { ...one, unknown: { ...one.unknown, resourceType: false } } : one
}
