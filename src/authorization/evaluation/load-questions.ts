import type { Deps } from '../../deps.ts'
import type { Read } from '../../platform/db/read.ts'
import type { ObjectFinders, ObjectScope } from '../../platform/find-object.ts'
import type { Caller } from '../../platform/http/caller.ts'
import type { ActionName, ApplicationAction } from '../../policy-engine/catalogue/actions.ts'
import type { SlicedPolicies } from '../policies/slice-policies.ts'
import { findRegistered, type RegisteredObjects, registeredKey } from '../resources/find-registered.ts'
import { findObjects, objectKey, objectWithoutLookup, type QuestionObject } from './find-question-object.ts'
import { actionOf, isMemberType, type Question } from './question.ts'
import { findSubjects, type KnownSubject, subjectKey } from './store.ts'

/** A question with what it is about, loaded from the tenant. */
export interface LoadedQuestion {
  question: Question
  action: ActionName | ApplicationAction
  /** the subject, if it is a member */
  known: KnownSubject | null
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
  subjects: KnownSubject[]
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
    object: objectWithoutLookup({ ...one.resource, action: validAction(one) }, ''),
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

/** The members that questions are about. The caller is not read. */
export function findMembersAskedAbout(
  read: Read,
  { tenantId, userId }: Pick<ObjectScope, 'tenantId' | 'userId'>,
  questions: readonly Pick<Question, 'subject'>[],
): Promise<KnownSubject[]> {
  const others = questions
    .map(({ subject }) => subject)
    .filter(({ type, id }) => isMemberType(type) && id.trim().toLowerCase() !== userId)
  return others.length > 0 ? findSubjects(read, tenantId, others) : Promise.resolve([])
}

/** The member that a question is about, or null. */
export function knownSubject(
  parts: Pick<QuestionParts, 'subjects'>,
  caller: Caller,
  { subject }: Pick<Question, 'subject'>,
): KnownSubject | null {
  return (isMemberType(subject.type) && membersByName(parts, caller).get(subjectKey(subject))) || null
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
  const members = membersByName(parts, caller)
  return (question) => {
    const { subject, resource } = question
    const action = validAction(question)
    const known = (isMemberType(subject.type) && members.get(subjectKey(subject))) || null
    return { question, action, known, object: objectOf(parts, { ...resource, action }, known?.id ?? '') }
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

function membersByName(
  { subjects }: Pick<QuestionParts, 'subjects'>,
  caller: Caller,
): Map<string, KnownSubject> {
  const self = knownCaller(caller)
  return byName(self ? [...subjects, self] : subjects)
}

/** The action of a validated question. */
export function validAction({
  action,
  resource,
}: {
  action: { name: string }
  resource: { type: string }
}): ActionName | ApplicationAction {
  const name = actionOf(action.name, resource.type)
  if (name === null) throw new Error('A question without an action was not validated')
  return name
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

/** An unverified address names no one, because anyone can register with it. */
const namesOf = ({ type, id, email, emailVerified }: KnownSubject) =>
  (emailVerified ? [id, email] : [id]).map((name) => subjectKey({ type, id: name }))

const byName = (subjects: readonly KnownSubject[]): Map<string, KnownSubject> =>
  new Map(subjects.flatMap((subject) => namesOf(subject).map((name) => [name, subject] as const)))
