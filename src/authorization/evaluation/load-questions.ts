import type { Deps } from '../../deps.ts'
import { readInTenant } from '../../platform/db/read.ts'
import { inTenant, type Tx } from '../../platform/db/transaction.ts'
import type { ObjectFinders } from '../../platform/find-object.ts'
import type { Caller } from '../../platform/http/caller.ts'
import type { PoliciesInForce, UnknownWords } from '../../platform/http/policies-in-force.ts'
import { type ActionName, type ApplicationAction, wildcardOf } from '../../policy-engine/catalogue/actions.ts'
import { findObjects, objectKey, objectWithoutLookup, type QuestionObject } from './find-question-object.ts'
import { actionOf, isMemberType, type Question } from './question.ts'
import { findSubjects, type KnownSubject, listPermissionsNaming, subjectKey } from './store.ts'

/** A question with what it is about, loaded from the tenant. */
export interface LoadedQuestion {
  question: Question
  action: ActionName | ApplicationAction
  /** the subject, if it is a member */
  known: KnownSubject | null
  object: QuestionObject
  unknown: UnknownWords
}

/** Questions of one caller, with the policies that decide them. */
export interface LoadedQuestions {
  policies: PoliciesInForce
  questions: LoadedQuestion[]
}

/**
 * Loads the subjects and objects of questions, each once and in one transaction. Nothing is read for the caller and for
 * objects of an application.
 */
export async function loadQuestions(
  deps: Deps,
  objects: ObjectFinders,
  caller: Caller,
  questions: readonly Question[],
): Promise<LoadedQuestions> {
  const policies = await deps.loadPolicies(caller, caller.auth.tenant?.policyRevision ?? 0)
  const asked = questions.map((question) => ({ question, action: validAction(question) }))
  const self = knownCaller(caller)
  const others = questions
    .filter(({ subject }) => isMemberType(subject.type) && !isNamed(self, subject.id))
    .map(({ subject }) => subject.id)
  const lookups = asked
    .filter(({ question, action }) => objectWithoutLookup({ ...question.resource, action }, '') === undefined)
    .map(({ question }) => question.resource)
  const misspelt = asked.filter(({ question, action }) => {
    const named = policies.names(action, question.resource.type)
    return !named.action || !named.resourceType
  })
  const scope = { tenantId: caller.tenantId, userId: caller.userId, now: deps.clock() }
  const load = async (tx: Tx) => ({
    subjects: others.length > 0 ? await findSubjects(tx, caller.tenantId, others) : [],
    found: await findObjects(tx, objects, scope, lookups),
    named: await namesInRoles(tx, caller.tenantId, misspelt),
  })
  const onlySubjects = lookups.length + misspelt.length === 0
  const { subjects, found, named } = onlySubjects
    ? { subjects: await readSubjects(deps, caller, others), ...nothingElse }
    : await inTenant(deps.db, caller, load)
  const members = byName([...subjects, ...(self ? [self] : [])])
  return {
    policies,
    questions: asked.map(({ question, action }) => {
      const { subject, resource } = question
      const known = (isMemberType(subject.type) && members.get(subjectKey(subject.id))) || null
      const object =
        objectWithoutLookup({ ...resource, action }, known?.id ?? '') ??
        found.get(objectKey(resource)) ??
        'missing'
      const unknown = unknownWords(policies, named, action, resource.type)
      return { question, action, known, object, unknown }
    }),
  }
}

const nothingElse = { found: new Map<string, QuestionObject>(), named: new Set<string>() }

const readSubjects = async ({ db }: Deps, caller: Caller, others: readonly string[]) =>
  others.length === 0 ? [] : readInTenant(db, caller, (read) => findSubjects(read, caller.tenantId, others))

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
  return membership && { id: userId, email: user.email, emailVerified: user.emailVerified, membership }
}

const isNamed = (known: KnownSubject | null, idOrEmail: string) =>
  known !== null && namesOf(known).includes(subjectKey(idOrEmail))

/** An unverified address names no one, because anyone can register with it. */
const namesOf = ({ id, email, emailVerified }: KnownSubject) => (emailVerified ? [id, email] : [id])

const byName = (subjects: readonly KnownSubject[]): Map<string, KnownSubject> =>
  new Map(subjects.flatMap((subject) => namesOf(subject).map((name) => [name, subject] as const)))

/** The permissions and resource types that roles name, of those that these questions use. */
async function namesInRoles(
  tx: Tx,
  tenantId: string,
  asked: readonly { question: Question; action: string }[],
): Promise<Set<string>> {
  if (asked.length === 0) return new Set()
  const permissions = await listPermissionsNaming(tx, tenantId, {
    actions: [...new Set(asked.map(({ action }) => action))],
    types: [...new Set(asked.map(({ question }) => question.resource.type))],
  })
  return new Set(permissions.flatMap((name) => [name, name.slice(0, name.indexOf(':'))]))
}

/** Whether no policy in force and no role of the tenant names the action, or the resource type. Often a misspelling. */
function unknownWords(
  policies: PoliciesInForce,
  inRoles: ReadonlySet<string>,
  action: string,
  resourceType: string,
): UnknownWords {
  const named = policies.names(action, resourceType)
  return {
    action: !named.action && !inRoles.has(action) && !inRoles.has(wildcardOf(action)),
    resourceType: !named.resourceType && !inRoles.has(resourceType),
  }
}
