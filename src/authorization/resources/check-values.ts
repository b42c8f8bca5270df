import type { Tx } from '../../platform/db/transaction.ts'
import { invalidField, validationError } from '../../platform/errors.ts'
import { builtInAttributes } from '../../policy-engine/catalogue/built-in-attributes.ts'
import { requireDepartment } from '../../tenancy/departments/create-department.ts'
import { attributeFault, attributeFaults } from '../../tenancy/members/check-attributes.ts'
import { lockMemberShared } from '../../tenancy/members/store.ts'
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

/**
 * Throws 400 unless the owner is a member, the department exists, and every attribute is a defined one of the category
 * resource with a value that its definition allows. Owner and department stay until the transaction ends.
 */
export async function checkValues(
  tx: Tx,
  tenantId: string,
  { attributes, owner_id, department_id }: ResourceBody,
): Promise<void> {
  const keys = Object.keys(attributes)
  if (keys.length > 0) {
    const defined = (await listDefinitions(tx, tenantId)).filter(({ category }) => category === 'resource')
    // An attribute is required of some types of resources only, and the definition does not say of which.
    const definitions = [...builtIn, ...defined.map((one) => ({ ...one, is_required: false }))]
    const misplaced = keys.filter((key) => ownFields.has(key)).map(misplacedField)
    const faults = misplaced.length > 0 ? misplaced : attributeFaults(attributes, definitions, 'Resources')
    if (faults.length > 0) throw validationError(...faults)
  }
  await requireDepartment(tx, tenantId, department_id, 'department_id')
  if (owner_id !== null && !(await lockMemberShared(tx, tenantId, owner_id)))
    throw invalidField('owner_id', 'This tenant has no member with this user id.', 'unknown')
}

const misplacedField = (key: string) =>
  attributeFault(
    key,
    'invalid',
    `${key} is not an attribute of its own. Give owner_id and department_id beside attributes.`,
  )
