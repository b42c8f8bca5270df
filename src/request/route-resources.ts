import { type ActionName, actions } from '../policy-engine/catalogue/actions.ts'
import { resourceTypeOf } from '../policy-engine/catalogue/resource-type-of.ts'
import type { Resource } from '../policy-engine/evaluate/query.ts'
import type { Caller } from './caller.ts'
import type { Route } from './route.ts'

/** The resource of a route before anything is loaded: owned by the caller, in the tenant of the request. */
export const collectionOf = (
  { action, scope }: Pick<Route, 'action' | 'scope'>,
  { tenantId, userId }: Pick<Caller, 'tenantId' | 'userId'>,
): Resource => ({
  type: resourceTypeOf(action),
  id: scope === 'path' ? tenantId : null,
  tenantId,
  ownerId: userId,
})

/** An object or row as a resource. Its fields are those of the API's answer, without an unverified address. */
export function resourceOf(action: ActionName, collection: Resource, userId: string, row: unknown): Resource {
  const fields = fieldsOf(row)
  return {
    ...collection,
    id: textOf(fields.id),
    ownerId: ownerOf(action, userId, collection.type, fields),
    fields: provenFields(fields),
  }
}

function ownerOf(
  action: ActionName,
  userId: string,
  type: string,
  fields: Record<string, unknown>,
): string | null {
  const { self, roles } = actions[action]
  // An action that is for the user alone covers the user's own rows only, also rows that others wrote (an invitation).
  if (self && roles.length === 0) return userId
  const named = ownOf[type] ? textOf(fields[ownOf[type]]) : namedOwner(fields)
  return named ?? (self ? userId : null)
}

/** The fields of a person as policies see them. Anyone can register with any address, so an unverified one proves nothing. */
export const provenFields = <Fields extends { email_verified?: unknown }>(fields: Fields) =>
  fields.email_verified === false ? { ...fields, email: null } : fields

/** The fields that name the owner of a row, where it is not the one that `namedOwner` finds. */
const ownOf: Readonly<Record<string, string>> = { user: 'id', policy: 'created_by' }

/** The owner that a row names. */
const namedOwner = (row: Record<string, unknown>): string | null =>
  textOf(row.user_id) ??
  textOf(row.owner_id) ??
  textOf(fieldsOf(row.requester).id) ??
  textOf(fieldsOf(row.subject).id) ??
  textOf(fieldsOf(row.invited_by).id)

/** The members of a value; none when it is not an object. */
export const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

const textOf = (value: unknown) => (typeof value === 'string' ? value : null)
