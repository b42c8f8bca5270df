import type { Tx } from '../../platform/db/transaction.ts'
import type { FoundObject, ObjectFinders, ObjectScope } from '../../platform/find-object.ts'
import { isUuid } from '../../platform/uuid.ts'
import {
  type ActionName,
  type ApplicationAction,
  actions,
  isServiceAction,
  serviceResources,
} from '../../policy-engine/catalogue/actions.ts'

/** The object of a question: one of the service, one that is missing in this tenant, or one of an application. */
export type QuestionObject = FoundObject | 'missing' | 'of the application'

/**
 * Looks up the object of a question if it belongs to the service. Objects of the service have a UUID. Any other id stands
 * for the collection (to create or list) or, for actions about oneself, for the subject.
 */
export async function findQuestionObject(
  tx: Tx,
  finders: ObjectFinders,
  scope: ObjectScope & { subjectId: string },
  asked: { action: ActionName | ApplicationAction; type: string; id: string },
): Promise<QuestionObject> {
  const { action, type } = asked
  const service = isServiceAction(action)
  if (!serviceResources.has(type)) return service ? 'missing' : 'of the application'
  if (service && !isAbout(action, type)) return 'missing'
  const id = asked.id.toLowerCase()
  if (isUuid(id)) return (await finders[type]?.(tx, scope, id)) ?? 'missing'
  return service && meansCollection(action) ? { ownerId: scope.subjectId, fields: {} } : 'missing'
}

// A profile is the user's own user object.
const isAbout = (action: ActionName, type: string) =>
  action.startsWith(`${type}:`) || (type === 'user' && action.startsWith('profile:'))

const meansCollection = (action: ActionName) =>
  /:(create|list|evaluate)$/.test(action) || (actions[action].self && actions[action].roles.length === 0)
