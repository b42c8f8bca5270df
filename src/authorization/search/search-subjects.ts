import { type Read, readInTenant } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import type { ObjectFinders, ObjectScope } from '../../lists/find-object.ts'
import { isAction } from '../../policy-engine/catalogue/actions.ts'
import type { SubjectType } from '../../policy-engine/evaluate/query.ts'
import { valuesNamed } from '../../policy-engine/evaluate/query-class.ts'
import type { Caller } from '../../request/caller.ts'
import { actionOf, type Evaluation, queryOf } from '../evaluation/evaluation.ts'
import {
  type EvaluationObject,
  findObjects,
  objectKey,
  objectWithoutLookup,
} from '../evaluation/find-objects.ts'
import { policiesOf } from '../evaluation/load-evaluations.ts'
import { type KnownSubject, listMembersAsSubjects, listRolesOfSubjects } from '../evaluation/store.ts'
import { findRegistered, registeredKey } from '../resources/find-registered.ts'
import { candidatesAfter, type NamedCandidate } from './named-candidates.ts'
import { answerSearch, type Candidates, eachInTurn, noCandidates } from './search.ts'
import type { SubjectSearch } from './search-schemas.ts'

/** The object of a search for subjects; undefined without a lookup, so it depends on the subject. */
export async function findSearchedObject(
  read: Read,
  finders: ObjectFinders,
  scope: ObjectScope,
  { action, resource }: SubjectSearch,
): Promise<{ object: EvaluationObject | undefined }> {
  const asked = { ...resource, action: actionOf({ action, resource }) }
  const known = objectWithoutLookup(asked, '')
  if (known === 'of the application') {
    const registered = await findRegistered(read, scope.tenantId, [resource])
    return { object: registered.get(registeredKey(resource)) }
  }
  if (known !== undefined) return { object: undefined }
  const found = await findObjects(read, finders, scope, [resource])
  return { object: found.get(objectKey(resource)) ?? 'missing' }
}

/**
 * The subjects of a type who may do the action: of type `user` or `service_account`, the members; of a type of the
 * application, the candidates that the evaluation names, and the ids that policies name.
 */
export async function searchSubjects(
  deps: Deps,
  caller: Caller,
  object: EvaluationObject | undefined,
  body: SubjectSearch,
) {
  const now = deps.clock()
  const { type, properties, candidates = [] } = body.subject
  const action = actionOf(body)
  const policies = await policiesOf(deps, caller)
  const slice = policies.slice(body.resource.type, action, now)
  const examine = (known: KnownSubject | null, { id, properties: own }: NamedCandidate) => {
    const evaluation: Evaluation = { ...body, subject: { type, id, properties: own ?? properties } }
    const about = object ?? objectWithoutLookup({ ...body.resource, action }, known?.id ?? '')
    const { callerKeys } = policies
    const parts = { caller, action, known, slice, callerKeys, now, ...(about && { object: about }) }
    const query = queryOf(evaluation, parts)
    return { result: { type, id }, position: id, query }
  }
  async function* members(kind: SubjectType, after: string | null) {
    for await (const group of membersAfter(deps, caller, kind, after))
      yield eachInTurn(group, (known) => examine(known, { id: known.id }))
  }
  async function* named(after: string | null) {
    const ids = valuesNamed(slice, 'subject.id')
    yield eachInTurn(candidatesAfter(candidates, ids, after), (candidate) => examine(null, candidate))
  }
  const from = (after: string | null): Candidates<{ type: string; id: string }, string> =>
    type === 'user' || type === 'service_account' ? members(type, after) : named(after)
  const asked = { path: '/access/v1/search/subject', evaluation: body, revision: policies.revision }
  return answerSearch(deps, caller, asked, isAction(action) ? from : noCandidates)
}

const membersAtOnce = 500

/** The people or service accounts of the tenant as subjects, by id. The caller's own session does not count: others have none. */
async function* membersAfter(
  { db }: Deps,
  caller: Caller,
  kind: SubjectType,
  after: string | null,
): AsyncGenerator<KnownSubject[]> {
  const { tenantId } = caller
  const roles = await readInTenant(db, caller, (read) => listRolesOfSubjects(read, tenantId))
  let from = after
  while (true) {
    const page = { kind, after: from, limit: membersAtOnce }
    const group = await readInTenant(db, caller, (read) => listMembersAsSubjects(read, tenantId, roles, page))
    yield group
    if (group.length < membersAtOnce) return
    from = group.at(-1)!.id
  }
}
