import type { Read } from '../../platform/db/read.ts'
import type { RegisteredObject } from '../evaluation/find-question-object.ts'
import { findKnownResources, type KnownResource } from './store.ts'

interface Named {
  type: string
  id: string
}

/** Registered resources by `registeredKey`. */
export type RegisteredObjects = ReadonlyMap<string, RegisteredObject>

/** Ids of applications are case-sensitive, and a type contains no blank. */
export const registeredKey = ({ type, id }: Named): string => `${type} ${id}`

/** Asks for the registered resources among these, each once and all together. */
export async function findRegistered(
  read: Read,
  tenantId: string,
  asked: readonly Named[],
): Promise<RegisteredObjects> {
  const names = new Map(asked.map((one) => [registeredKey(one), one]))
  if (names.size === 0) return new Map()
  const pairs = [...names.values()].map(({ type, id }) => ({ resource_type: type, resource_id: id }))
  const rows = await findKnownResources(read, tenantId, pairs)
  return new Map(
    rows.map((row) => [registeredKey({ type: row.resource_type, id: row.resource_id }), registered(row)]),
  )
}

/** A registered resource as decisions see it. */
export const registered = ({
  owner_id,
  owner_manager_id,
  department_id,
  attributes,
}: KnownResource): RegisteredObject => ({
  registered: true,
  ownerId: owner_id,
  fields: { ...attributes, owner_manager_id, department_id },
})
