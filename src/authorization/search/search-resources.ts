import { inTenant } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { ListedObject, ObjectListers, ObjectPosition } from '../../lists/list-objects.ts'
import { isAction, isServiceAction, serviceResources } from '../../policy-engine/catalogue/actions.ts'
import { valuesNamed } from '../../policy-engine/evaluate/query-class.ts'
import type { Caller } from '../../request/caller.ts'
import { actionOf, type Evaluation, queryOf } from '../evaluation/evaluation.ts'
import { type EvaluationObject, isAbout } from '../evaluation/find-objects.ts'
import { type Entities, knownSubject, policiesOf } from '../evaluation/load-evaluations.ts'
import { applicationObjectsAfter, type PlaceInSearch } from './application-objects.ts'
import { answerSearch, eachInTurn, noCandidates } from './search.ts'
import type { ResourceSearch } from './search-schemas.ts'

/**
 * The evaluation of a search for resources, while none is examined. Its resource is not looked up, because its id is not a
 * UUID.
 */
export const withoutResource = (body: ResourceSearch): Evaluation => ({
  ...body,
  resource: { type: body.resource.type, id: 'any' },
})

type Result = { type: string; id: string }

/**
 * The resources of a type on which the subject may do the action: of a type of the service, the tenant's own objects; of
 * a type of the application, the candidates that the evaluation names, the ids that policies name, and the registered ones.
 */
export async function searchResources(
  deps: Deps,
  lists: ObjectListers,
  caller: Caller,
  entities: Entities,
  body: ResourceSearch,
) {
  const now = deps.clock()
  const { type, properties, candidates = [] } = body.resource
  const action = actionOf(body)
  const known = knownSubject(entities, caller, body)
  const policies = await policiesOf(deps, caller)
  const slice = policies.slice(type, action, now)
  const { callerKeys } = policies
  const ask = (id: string, own: Evaluation['context'], object?: EvaluationObject) => {
    const evaluation: Evaluation = { ...body, resource: { type, id, properties: own ?? properties } }
    return queryOf(evaluation, { caller, action, known, slice, callerKeys, now, ...(object && { object }) })
  }
  async function* stored(after: ObjectPosition | null) {
    if (isServiceAction(action) && !isAbout(action, type)) return
    for await (const group of objectsAfter(deps, lists, caller, { type, after, now }))
      yield eachInTurn(group, ({ id, position, object }) => ({
        result: { type, id },
        position,
        query: ask(id, undefined, object),
      }))
  }
  const ids = { asked: candidates, named: valuesNamed(slice, 'resource.id') }
  async function* ofApplication(after: PlaceInSearch | null) {
    const scope = { deps, caller, type }
    for await (const group of applicationObjectsAfter(scope, ids, after))
      yield eachInTurn(group, ({ id, properties: own, place, object }) => ({
        result: { type, id },
        position: place,
        query: ask(id, own, object),
      }))
  }
  const asked = { path: '/access/v1/search/resource', evaluation: body, revision: policies.revision }
  if (!isAction(action)) return answerSearch<Result, never>(deps, caller, asked, noCandidates)
  return serviceResources.has(type)
    ? answerSearch<Result, ObjectPosition>(deps, caller, asked, stored)
    : answerSearch<Result, PlaceInSearch>(deps, caller, asked, ofApplication)
}

const objectsAtOnce = 500

/** The objects of the service of a type in the tenant, in the order of their list. */
async function* objectsAfter(
  { db }: Deps,
  lists: ObjectListers,
  { tenantId, userId }: Caller,
  { type, after, now }: { type: string; after: ObjectPosition | null; now: number },
): AsyncGenerator<ListedObject[]> {
  const list = lists[type]
  if (!list) return
  const scope = { tenantId, userId, now }
  let from = after
  while (true) {
    const group = await inTenant(db, scope, (tx) => list(tx, scope, from, objectsAtOnce))
    yield group
    if (group.length < objectsAtOnce) return
    from = group.at(-1)!.position
  }
}
