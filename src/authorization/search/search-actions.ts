import type { Read } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import type { ObjectFinders, ObjectScope } from '../../lists/find-object.ts'
import {
  type ActionName,
  type ApplicationAction,
  actionNames,
  isApplicationAction,
} from '../../policy-engine/catalogue/actions.ts'
import type { Caller } from '../../request/caller.ts'
import type { PoliciesInForce } from '../../request/policies-in-force.ts'
import { queryOf } from '../evaluation/evaluation.ts'
import { isAbout } from '../evaluation/find-objects.ts'
import { type Entities, evaluationLoader, findEntities, policiesOf } from '../evaluation/load-evaluations.ts'
import { listPermissionsOn } from '../evaluation/store.ts'
import { answerSearch, eachInTurn } from './search.ts'
import type { ActionSearch } from './search-schemas.ts'

/** What a search for actions is about, and the permissions of roles on its type. */
interface FoundActionSearch {
  entities: Entities
  permissions: readonly string[]
}

// A type has no more actions of an application than this in a search.
const maxNamed = 20_000

// Stands for the action while none is examined.
const anyAction = { name: 'application:any' }

/** Asks for the subject, the object, and the permissions of roles on the type, together. */
export async function findActionSearch(
  read: Read,
  objects: ObjectFinders,
  scope: ObjectScope,
  body: ActionSearch,
): Promise<FoundActionSearch> {
  const [entities, permissions] = await Promise.all([
    findEntities(read, objects, scope, [{ ...body, action: anyAction }]),
    listPermissionsOn(read, scope.tenantId, body.resource.type, maxNamed),
  ])
  return { entities, permissions }
}

/** The service's actions on the type, and those of the application that policies or roles name. */
function actionsOn(
  policies: PoliciesInForce,
  permissions: readonly string[],
  type: string,
): (ActionName | ApplicationAction)[] {
  const named = [...policies.actionsOn(type), ...permissions].filter(isApplicationAction)
  return [
    ...new Set([...actionNames.filter((name) => isAbout(name, type)), ...named.slice(0, maxNamed)]),
  ].sort()
}

/** The actions that the subject may do on the resource, by name. An action of its type is named by its verb. */
export async function searchActions(
  deps: Deps,
  caller: Caller,
  { entities, permissions }: FoundActionSearch,
  body: ActionSearch,
) {
  const now = deps.clock()
  const { type } = body.resource
  const policies = await policiesOf(deps, caller)
  const { callerKeys } = policies
  const load = evaluationLoader(entities, caller)
  const examine = (name: ActionName | ApplicationAction) => {
    const { evaluation, ...loaded } = load({ ...body, action: { name } })
    const slice = policies.slice(type, name, now)
    const query = queryOf(evaluation, { caller, ...loaded, slice, callerKeys, now })
    const result = { name: nameOn(type, name), properties: { permission: name as string } }
    return { result, position: name as string, query }
  }
  async function* actions(after: string | null) {
    const names = actionsOn(policies, permissions, type)
    yield eachInTurn(
      names.filter((name) => after === null || name > after),
      examine,
    )
  }
  const path = '/access/v1/search/action'
  return answerSearch(deps, caller, { path, evaluation: body, revision: policies.revision }, actions)
}

const nameOn = (type: string, action: string) =>
  action.startsWith(`${type}:`) ? action.slice(type.length + 1) : action
