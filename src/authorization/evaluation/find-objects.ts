import { isUuid } from '../../crypto/uuid.ts'
import type { Read } from '../../database/executor/read.ts'
import type { FoundObject, ObjectFinders, ObjectScope } from '../../lists/find-object.ts'
import {
  type ActionName,
  type ApplicationAction,
  actions,
  isApplicationAction,
  isServiceAction,
  serviceResources,
} from '../../policy-engine/catalogue/actions.ts'
import { resourceTypeOf } from '../../policy-engine/catalogue/resource-type-of.ts'

/** The object of an evaluation: one of the service, one that is missing in this tenant, or one of an application. */
export type EvaluationObject = FoundObject | RegisteredObject | 'missing' | 'of the application'

/** An object of an application that is registered: what is registered counts, not what an evaluation says. */
export type RegisteredObject = FoundObject &
  Required<Pick<FoundObject, 'ownerId' | 'fields'>> & { registered: true }

interface ResourceRef {
  action: ActionName | ApplicationAction
  type: string
  id: string
}

/**
 * The object of an evaluation if it needs no lookup; undefined for an object of the service with an id. Objects of the
 * service have a UUID, people also other names, and applications a `client_id`. Any other id stands for the collection (to
 * create or list) or, for actions about oneself, for the subject.
 */
export function objectWithoutLookup(
  { action, type, id }: ResourceRef,
  subjectId: string,
): EvaluationObject | undefined {
  const service = isServiceAction(action)
  if (!serviceResources.has(type)) return service ? 'missing' : 'of the application'
  if (service ? !isAbout(action, type) : !isApplicationAction(action)) return 'missing'
  if (isUuid(id.toLowerCase()) || (isNamed(type) && !ofAll.test(action))) return undefined
  return service && meansCollection(action) ? { ownerId: subjectId, fields: {} } : 'missing'
}

/** Finds the objects of the service with these types and ids, each once and all together. The keys are those of `objectKey`. */
export async function findObjects(
  read: Read,
  finders: ObjectFinders,
  scope: ObjectScope,
  asked: readonly Pick<ResourceRef, 'type' | 'id'>[],
): Promise<Map<string, EvaluationObject>> {
  const each = new Map(asked.map((one) => [objectKey(one), one] as const))
  const found = [...each].map(
    async ([key, { type, id }]): Promise<[string, EvaluationObject]> => [
      key,
      (await finders[type]?.(read, scope, keyIn(type, id))) ?? 'missing',
    ],
  )
  return new Map(await Promise.all(found))
}

export const objectKey = ({ type, id }: Pick<ResourceRef, 'type' | 'id'>): string =>
  `${type} ${keyIn(type, id)}`

/**
 * Evaluations name a person by id, address or `external_id`, which is compared exactly; an application by its `client_id`.
 */
const isNamed = (type: string) => type === 'user' || type === 'oauth_client'

const keyIn = (type: string, id: string) => (isNamed(type) ? id : id.toLowerCase())

/** Whether an action of the service is about objects of this type. A profile is the user's own user object. */
export const isAbout = (action: ActionName, type: string): boolean =>
  resourceTypeOf(action) === type || (type === 'user' && action.startsWith('profile:'))

const ofAll = /:(create|list|evaluate)$/

const meansCollection = (action: ActionName) =>
  ofAll.test(action) || (actions[action].self && actions[action].roles.length === 0)
