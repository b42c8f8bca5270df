import { type ActionName, actions } from '../../policy-engine/catalogue/actions.ts'
import type { Resource } from '../../policy-engine/evaluate/query.ts'
import type { Caller } from './caller.ts'
import type { Route } from './route.ts'

/** What a route is about before anything is loaded: the caller's own, inside the tenant of the request. */
export const collectionOf = (
  { action, scope }: Pick<Route, 'action' | 'scope'>,
  { tenantId, userId }: Pick<Caller, 'tenantId' | 'userId'>,
): Resource => ({
  type: action.split(':')[0] ?? '',
  id: scope === 'path' ? tenantId : null,
  tenantId,
  ownerId: userId,
})

/** What a row, or an object, is as a resource: what the API answers about it. */
export function resourceOf(action: ActionName, collection: Resource, userId: string, row: unknown): Resource {
  const fields = fieldsOf(row)
  return {
    ...collection,
    id: textOf(fields.id),
    ownerId: ownerOf(action, userId, collection.type, fields),
    fields,
  }
}

function ownerOf(
  action: ActionName,
  userId: string,
  type: string,
  fields: Record<string, unknown>,
): string | null {
  const { self, roles } = actions[action]
  // What is about oneself alone shows nothing else, whoever wrote the row: an invitation, a request to decide.
  if (self && roles.length === 0) return userId
  const named = type === 'user' ? textOf(fields.id) : namedOwner(fields)
  return named ?? (self ? userId : null)
}

/** Whose a row is, as rows say it. */
const namedOwner = (row: Record<string, unknown>): string | null =>
  textOf(row.user_id) ??
  textOf(fieldsOf(row.requester).id) ??
  textOf(fieldsOf(row.subject).id) ??
  textOf(fieldsOf(row.invited_by).id)

/** A value's own members; none where it is no object. */
export const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

const textOf = (value: unknown) => (typeof value === 'string' ? value : null)
