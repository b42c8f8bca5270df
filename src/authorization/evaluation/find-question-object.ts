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

/** What a question is about: an object of the service, one that this tenant does not have, or an application's own. */
export type QuestionObject = FoundObject | 'missing' | 'of the application'

/**
 * Looks up what a question is about, where that is of the service. Every object of the service has a UUID: any other id
 * stands for the collection of what is made or listed, or for what is the subject's own.
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

// A profile is a user, seen by themselves.
const isAbout = (action: ActionName, type: string) =>
  action.startsWith(`${type}:`) || (type === 'user' && action.startsWith('profile:'))

const meansCollection = (action: ActionName) =>
  /:(create|list|evaluate)$/.test(action) || (actions[action].self && actions[action].roles.length === 0)
