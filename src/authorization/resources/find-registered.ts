import type { Read } from '../../database/executor/read.ts'
import type { RegisteredObject } from '../evaluation/find-objects.ts'
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

/**
 * A registered resource as decisions see it. Its attributes are parsed at first use: a thousand resources with 16 KiB each
 * would keep the event loop for a tenth of a second.
 */
export function registered(row: KnownResource): RegisteredObject {
  const { owner_id: ownerId, owner_manager_id, department_id, attributes } = row
  let fields: RegisteredObject['fields'] | undefined
  return {
    registered: true,
    ownerId,
    get fields(): RegisteredObject['fields'] {
      fields ??= { ...JSON.parse(attributes), owner_manager_id, department_id }
      return fields!
    },
  }
}
