import type { Read } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import type { ObjectFinders, ObjectScope } from '../../lists/find-object.ts'
import type { ActionName, ApplicationAction } from '../../policy-engine/catalogue/actions.ts'
import type { Caller } from '../../request/caller.ts'
import { nameForms } from '../../tenancy/members/subject-store.ts'
import type { SlicedPolicies } from '../policies/slice-policies.ts'
import { findRegistered, type RegisteredObjects, registeredKey } from '../resources/find-registered.ts'
import { findObjects, objectKey, objectWithoutLookup, type QuestionObject } from './find-question-object.ts'
import { type FoundSubject, subjectsByName } from './name-subjects.ts'
import { actionOf, isMemberType, type Question } from './question.ts'
import { findSubjects, type KnownSubject, type NamedSubject } from './store.ts'

/** A question with what it is about, loaded from the tenant. */
export interface LoadedQuestion {
  question: Question
  action: ActionName | ApplicationAction
  /** the subject, if it is a member */
  known: KnownSubject | null
  /** whether its name fits two members, so it is neither */
  isAmbiguous: boolean
  object: QuestionObject
}

/** Questions of one caller, with the policies that decide them. */
export interface LoadedQuestions {
  policies: SlicedPolicies
  questions: LoadedQuestion[]
}

/**
 * What questions are about, as it was read: members, objects by `objectKey`, and registered resources.
 */
export interface QuestionParts {
  subjects: NamedSubject[]
  objects: Map<string, QuestionObject>
  registered: RegisteredObjects
}

/** Asks for the parts of questions, each once and all together. The caller is not read. */
export async function findParts(
  read: Read,
  finders: ObjectFinders,
  scope: ObjectScope,
  questions: readonly Question[],
): Promise<QuestionParts> {
  const { tenantId } = scope
  const resources = questions.map((one) => ({
    ...one.resource,
    object: objectWithoutLookup({ ...one.resource, action: actionOf(one) }, ''),
  }))
  const [subjects, objects, registered] = await Promise.all([
    findMembersAskedAbout(read, scope, questions),
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

/** The members that questions are about. A caller who is named by their own id is not read. */
export function findMembersAskedAbout(
  read: Read,
  { tenantId, userId }: Pick<ObjectScope, 'tenantId' | 'userId'>,
  questions: readonly Pick<Question, 'subject'>[],
): Promise<NamedSubject[]> {
  const others = questions
    .map(({ subject }) => subject)
    .filter(({ type, id }) => isMemberType(type) && nameForms(id).folded !== userId)
  return others.length > 0 ? findSubjects(read, tenantId, others) : Promise.resolve([])
}

/** The member that a question is about; null also for a name that fits two. */
export function knownSubject(
  parts: Pick<QuestionParts, 'subjects'>,
  caller: Caller,
  { subject }: Pick<Question, 'subject'>,
): KnownSubject | null {
  const found = subjectFinder(parts, caller)(subject)
  return found === 'ambiguous' ? null : found
}

/** The caller's policies, at the revision of the request. */
export const policiesOf = async ({ policyCache }: Pick<Deps, 'policyCache'>, caller: Caller) =>
  policyCache.load(caller, caller.auth.tenant?.policyRevision ?? 0)

/** Completes questions with their parts, and with the tenant's policies. */
export async function loadQuestions(
  deps: Pick<Deps, 'policyCache'>,
  caller: Caller,
  parts: QuestionParts,
  questions: readonly Question[],
): Promise<LoadedQuestions> {
  const policies = await policiesOf(deps, caller)
  return { policies, questions: questions.map(questionLoader(parts, caller)) }
}

/** Returns a function that completes a question with its parts. */
export function questionLoader(parts: QuestionParts, caller: Caller): (question: Question) => LoadedQuestion {
  const find = subjectFinder(parts, caller)
  return (question) => {
    const { subject, resource } = question
    const action = actionOf(question)
    const found = find(subject)
    const known = found === 'ambiguous' ? null : found
    const object = objectOf(parts, { ...resource, action }, known?.id ?? '')
    return { question, action, known, isAmbiguous: found === 'ambiguous', object }
  }
}

/** The object of a question, among the loaded ones. */
function objectOf(
  { objects, registered }: QuestionParts,
  asked: Parameters<typeof objectWithoutLookup>[0],
  subjectId: string,
): QuestionObject {
  const object = objectWithoutLookup(asked, subjectId) ?? objects.get(objectKey(asked)) ?? 'missing'
  return object === 'of the application' ? (registered.get(registeredKey(asked)) ?? object) : object
}

/** Finds the subjects of questions. Their own id always means the caller, who is not read by it. */
function subjectFinder(
  { subjects }: Pick<QuestionParts, 'subjects'>,
  caller: Caller,
): (subject: Question['subject']) => FoundSubject {
  const self = knownCaller(caller)
  const find = subjectsByName(subjects)
  const isSelf = ({ type, id }: Question['subject']) =>
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
