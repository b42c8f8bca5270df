import type { Tx } from '../../database/executor/transaction.ts'
import { type FieldError, validationError } from '../../errors.ts'
import { builtInAttributes } from '../../policy-engine/catalogue/built-in-attributes.ts'
import { lockDepartmentsShared } from '../../tenancy/departments/store.ts'
import { lockMembersShared } from '../../tenancy/members/bulk-store.ts'
import { attributeFault, attributeFaults } from '../../tenancy/members/check-attributes.ts'
import { listDefinitions } from '../attributes/store.ts'
import type { ResourceBody } from './resource-schemas.ts'

// These have fields of their own, or follow from others.
const ownFields = new Set(['type', 'id', 'owner_id', 'owner_manager_id', 'department_id'])

const builtIn = [...builtInAttributes].flatMap(([name, { type }]) => {
  const [category, key = ''] = name.split('.')
  return category === 'resource' && !ownFields.has(key)
    ? [{ key, data_type: type, allowed_values: null, is_required: false }]
    : []
})

/** Throws 400 with the faults of a resource's values. Owner and department stay until the transaction ends. */
export async function checkValues(tx: Tx, tenantId: string, body: ResourceBody): Promise<void> {
  const faults = (await valueFaults(tx, tenantId, [body]))(body)
  if (faults.length > 0) throw validationError(...faults)
}

/**
 * Gives what finds the faults of each of these resources: the owner must be a member, the department must exist, and every
 * attribute must be a defined one of the category resource with a value that its definition allows. Owners and departments
 * stay until the transaction ends.
 */
export async function valueFaults(
  tx: Tx,
  tenantId: string,
  bodies: readonly ResourceBody[],
): Promise<(body: ResourceBody) => FieldError[]> {
  const hasAttributes = bodies.some(({ attributes }) => Object.keys(attributes).length > 0)
  const [defined, departments, owners] = await Promise.all([
    hasAttributes ? listDefinitions(tx, tenantId) : [],
    lockDepartmentsShared(tx, tenantId, given(bodies.map(({ department_id }) => department_id))),
    lockMembersShared(tx, tenantId, given(bodies.map(({ owner_id }) => owner_id))),
  ])
  // An attribute is required of some types of resources only, and the definition does not say of which.
  const ofResources = defined
    .filter(({ category }) => category === 'resource')
    .map((one) => ({ ...one, is_required: false }))
  const definitions = [...builtIn, ...ofResources]
  return ({ attributes, owner_id, department_id }) => {
    const misplaced = Object.keys(attributes).filter((key) => ownFields.has(key))
    const faults =
      misplaced.length > 0
        ? misplaced.map(misplacedField)
        : attributeFaults(attributes, definitions, 'Resources')
    if (department_id !== null && !departments.has(department_id)) faults.push(unknownDepartment)
    if (owner_id !== null && !owners.has(owner_id)) faults.push(unknownOwner)
    return faults
  }
}

const given = (ids: readonly (string | null)[]): string[] => [...new Set(ids.filter((id) => id !== null))]

const unknownDepartment: FieldError = {
  field: 'department_id',
  code: 'unknown',
  detail: 'This tenant has no department with this id.',
}

const unknownOwner: FieldError = {
  field: 'owner_id',
  code: 'unknown',
  detail: 'This tenant has no member with this user id.',
}

const misplacedField = (key: string) =>
  attributeFault(
    key,
    'invalid',
    `${key} is not an attribute of its own. Give owner_id and department_id beside attributes.`,
  )
