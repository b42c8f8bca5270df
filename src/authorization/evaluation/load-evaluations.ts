import type { Read } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import type { ObjectFinders, ObjectScope } from '../../lists/find-object.ts'
import type { ActionName, ApplicationAction } from '../../policy-engine/catalogue/actions.ts'
import type { Caller } from '../../request/caller.ts'
import { nameForms } from '../../tenancy/members/subject-store.ts'
import type { SlicedPolicies } from '../policies/slice-policies.ts'
import { findRegistered, type RegisteredObjects, registeredKey } from '../resources/find-registered.ts'
import { actionOf, type Evaluation, isMemberType } from './evaluation.ts'
import { type EvaluationObject, findObjects, objectKey, objectWithoutLookup } from './find-objects.ts'
import { type FoundSubject, subjectsByName } from './name-subjects.ts'
import { findSubjects, type KnownSubject, type NamedSubject } from './store.ts'

/** An evaluation with what it is about, loaded from the tenant. */
export interface LoadedEvaluation {
  evaluation: Evaluation
  action: ActionName | ApplicationAction
  /** the subject, if it is a member */
  known: KnownSubject | null
  /** whether its name fits two members, so it is neither */
  isAmbiguous: boolean
  object: EvaluationObject
}

/** Evaluations of one caller, with the policies that decide them. */
export interface LoadedEvaluations {
  policies: SlicedPolicies
  evaluations: LoadedEvaluation[]
}

/**
 * What evaluations are about, as it was read: members, objects by `objectKey`, and registered resources.
 */
export interface Entities {
  subjects: NamedSubject[]
  objects: Map<string, EvaluationObject>
  registered: RegisteredObjects
}

/** Asks for the entities of evaluations, each once and all together. The caller is not read. */
export async function findEntities(
  read: Read,
  finders: ObjectFinders,
  scope: ObjectScope,
  evaluations: readonly Evaluation[],
): Promise<Entities> {
  const { tenantId } = scope
  const resources = evaluations.map((one) => ({
    ...one.resource,
    object: objectWithoutLookup({ ...one.resource, action: actionOf(one) }, ''),
  }))
  const [subjects, objects, registered] = await Promise.all([
    findMembersAskedAbout(read, scope, evaluations),
    findObjects(
      read,
      finders,
      scope,
      resources.filter(({ object }) => object === undefined),
    ),
    findRegistered(
      read,
      tenantId,
      resources.filter(({ object }) => object === 'of the application'),
    ),
  ])
  return { subjects, objects, registered }
}

/** The members that evaluations are about. A caller who is named by their own id is not read. */
export function findMembersAskedAbout(
  read: Read,
  { tenantId, userId }: Pick<ObjectScope, 'tenantId' | 'userId'>,
  evaluations: readonly Pick<Evaluation, 'subject'>[],
): Promise<NamedSubject[]> {
  const others = evaluations
    .map(({ subject }) => subject)
    .filter(({ type, id }) => isMemberType(type) && nameForms(id).folded !== userId)
  return others.length > 0 ? findSubjects(read, tenantId, others) : Promise.resolve([])
}

/** The member that an evaluation is about; null also for a name that fits two. */
export function knownSubject(
  entities: Pick<Entities, 'subjects'>,
  caller: Caller,
  { subject }: Pick<Evaluation, 'subject'>,
): KnownSubject | null {
  const found = subjectFinder(entities, caller)(subject)
  return found === 'ambiguous' ? null : found
}

/** The caller's policies, at the revision of the request. */
export const policiesOf = async ({ policyCache }: Pick<Deps, 'policyCache'>, caller: Caller) =>
  policyCache.load(caller, caller.auth.tenant?.policyRevision ?? 0)

/** Completes evaluations with their entities, and with the tenant's policies. */
export async function loadEvaluations(
  deps: Pick<Deps, 'policyCache'>,
  caller: Caller,
  entities: Entities,
  evaluations: readonly Evaluation[],
): Promise<LoadedEvaluations> {
  const policies = await policiesOf(deps, caller)
  return { policies, evaluations: evaluations.map(evaluationLoader(entities, caller)) }
}

/** Returns a function that completes an evaluation with its entities. */
export function evaluationLoader(
  entities: Entities,
  caller: Caller,
): (evaluation: Evaluation) => LoadedEvaluation {
  const find = subjectFinder(entities, caller)
  return (evaluation) => {
    const { subject, resource } = evaluation
    const action = actionOf(evaluation)
    const found = find(subject)
    const known = found === 'ambiguous' ? null : found
    const object = objectOf(entities, { ...resource, action }, known?.id ?? '')
    return { evaluation, action, known, isAmbiguous: found === 'ambiguous', object }
  }
}

/** The object of an evaluation, among the loaded ones. */
function objectOf(
  { objects, registered }: Entities,
  asked: Parameters<typeof objectWithoutLookup>[0],
  subjectId: string,
): EvaluationObject {
  const object = objectWithoutLookup(asked, subjectId) ?? objects.get(objectKey(asked)) ?? 'missing'
  return object === 'of the application' ? (registered.get(registeredKey(asked)) ?? object) : object
}

/** Finds the subjects of evaluations. Their own id always means the caller, who is not read by it. */
function subjectFinder(
  { subjects }: Pick<Entities, 'subjects'>,
  caller: Caller,
): (subject: Evaluation['subject']) => FoundSubject {
  const self = knownCaller(caller)
  const find = subjectsByName(subjects)
  const isSelf = ({ type, id }: Evaluation['subject']) =>
    type === self?.type && nameForms(id).folded === caller.userId
  return (subject) => {
    if (!isMemberType(subject.type)) return null
    return isSelf(subject) ? self : find(subject)
  }
}

/** The caller as a subject, as the request's own decision sees them. */
function knownCaller({ userId, auth: { user, membership } }: Caller): KnownSubject | null {
  return (
    membership && {
      type: user.type,
      id: userId,
      email: user.email,
      emailVerified: user.emailVerified,
      membership,
    }
  )
}
