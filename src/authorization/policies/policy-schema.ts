import { isDeepStrictEqual } from 'node:util'
import type { Read } from '../../database/executor/read.ts'
import { readRevision } from '../../database/revisions.ts'
import { builtInAttributes } from '../../policy-engine/catalogue/built-in-attributes.ts'
import type { AttributeCatalogue, DataType, Scalar } from '../../policy-engine/compile/conditions.ts'
import { roleNameKey } from '../../tenancy/roles/store.ts'
import { listDefinitions } from '../attributes/store.ts'
import { listRoleNames, type RoleName } from './store.ts'

/** The roles and attributes that policies of a tenant can name, at one revision. */
export interface PolicySchema {
  revision: number
  roles: readonly RoleName[]
  attributes: AttributeCatalogue
}

/** Reads the tenant's policy schema, built-in attributes included. */
export async function readPolicySchema(read: Read, tenantId: string): Promise<PolicySchema> {
  const [revision, definitions, roles] = await Promise.all([
    readRevision(read, tenantId),
    listDefinitions(read, tenantId),
    listRoleNames(read, tenantId),
  ])
  const attributes = new Map<string, { type: DataType; allowed?: Scalar[] | null }>(builtInAttributes)
  for (const { category, key, data_type, allowed_values } of definitions)
    attributes.set(`${category}.${key}`, { type: data_type, allowed: allowed_values })
  return { revision, roles, attributes }
}

/** Whether policies compile to the same with both schemas. */
export const samePolicySchema = (one: PolicySchema, other: PolicySchema): boolean =>
  isDeepStrictEqual([one.roles, one.attributes], [other.roles, other.attributes])

/** Returns a function that finds the id of a role by name (case-insensitive) or id. */
export function roleFinder({ roles }: PolicySchema): (nameOrId: string) => string | undefined {
  const ids = new Map(
    roles.flatMap(
      ({ id, name }) =>
        [
          [id, id],
          [roleNameKey(name), id],
        ] as const,
    ),
  )
  return (nameOrId) => ids.get(roleNameKey(nameOrId))
}
