import type { Deps } from '../../deps.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { ObjectFinders } from '../../platform/find-object.ts'
import type { Caller } from '../../platform/http/caller.ts'
import type { PoliciesInForce } from '../../platform/http/policies-in-force.ts'
import {
  type ActionName,
  type ApplicationAction,
  actionNames,
  isApplicationAction,
} from '../../policy-engine/catalogue/actions.ts'
import { isAbout } from '../evaluation/find-question-object.ts'
import { type LoadedQuestion, type LoadedQuestions, loadQuestions } from '../evaluation/load-questions.ts'
import { queryOf } from '../evaluation/question.ts'
import { listPermissionsNaming } from '../evaluation/store.ts'
import { answerSearch } from './search.ts'
import type { ActionSearch } from './search-question.ts'

/** A question for each action, and the subject of all of them. */
interface LoadedActionSearch extends LoadedQuestions {
  known: LoadedQuestion['known']
}

// Names the subject where no action is known.
const anyAction = 'application:any'

/**
 * Loads the questions of a search for actions, one for each: the service's actions on the type, and those of the
 * application that policies or roles name.
 */
export async function loadActionSearch(
  deps: Deps,
  objects: ObjectFinders,
  caller: Caller,
  body: ActionSearch,
): Promise<LoadedActionSearch> {
  const policies = await deps.loadPolicies(caller, caller.auth.tenant?.policyRevision ?? 0)
  const names = await actionsOn(deps, caller, policies, body.resource.type)
  const asked = [...names, anyAction].map((name) => ({ ...body, action: { name } }))
  const { questions, ...loaded } = await loadQuestions(deps, objects, caller, asked)
  return { ...loaded, questions: questions.slice(0, -1), known: questions.at(-1)?.known ?? null }
}

async function actionsOn(
  { db }: Deps,
  caller: Caller,
  policies: PoliciesInForce,
  type: string,
): Promise<(ActionName | ApplicationAction)[]> {
  const { tenantId } = caller
  const permissions = await inTenant(db, caller, (tx) =>
    listPermissionsNaming(tx, tenantId, { actions: [], types: [type] }),
  )
  const named = [...policies.actionsOn(type), ...permissions].filter(isApplicationAction)
  return [...new Set([...actionNames.filter((name) => isAbout(name, type)), ...named])].sort()
}

/** The actions that the subject may do on the resource, by name. An action of its type is named by its verb. */
export function searchActions(
  deps: Deps,
  caller: Caller,
  { policies, questions }: LoadedQuestions,
  body: ActionSearch,
) {
  const now = deps.clock()
  const { type } = body.resource
  async function* actions(after: string | null) {
    yield questions
      .filter(({ action }) => after === null || action > after)
      .map(({ question, action, known, object }) => ({
        result: { name: nameOn(type, action) },
        position: action as string,
        query: queryOf(question, {
          caller,
          action,
          known,
          object,
          slice: policies.slice(type, action, now),
          now,
        }),
      }))
  }
  const path = '/access/v1/search/action'
  return answerSearch(deps, caller, { path, question: body, revision: policies.revision }, actions)
}

const nameOn = (type: string, action: string) =>
  action.startsWith(`${type}:`) ? action.slice(type.length + 1) : action
