import type { Client, Service } from '../helpers/service.ts'

/** A subject that only the application knows. */
export const customer = (id: string, properties?: object) => entity('customer', id, properties)
export const record = (id: string, properties?: object) => entity('record', id, properties)
const entity = (type: string, id: string, properties?: object) => ({
  type,
  id,
  ...(properties && { properties }),
})

/**
 * The owner of a tenant with the policies of the certification fixture of AuthZEN: alice, bob (role admin), record-1 and
 * record-2 (archived). Its people are of the type `customer`, because `user` means a member here.
 */
export async function certified(service: Service): Promise<Client> {
  const owner = await service.signUp()
  const define = (category: string, key: string, data_type: string) =>
    owner.post('/api/v1/attribute-definitions/', { category, key, data_type })
  await define('subject', 'role', 'string')
  await define('action', 'soft', 'boolean')
  const leaf = (attribute: string, operator: string, value: unknown) => ({ attribute, operator, value })
  const alice = leaf('subject.id', 'eq', 'alice')
  const admin = leaf('subject.role', 'eq', 'admin')
  const archived = leaf('resource.status', 'eq', 'archived')
  // A deny also applies to a missing status, unless it says otherwise.
  const known = { attribute: 'resource.status', operator: 'exists' }
  const make = async (name: string, effect: string, action: string, conditions: object) => {
    const made = await owner.post('/api/v1/policies/', { name, effect, actions: [action], conditions })
    if (made.status !== 201) throw new Error(JSON.stringify(made.body))
  }
  await make('All read', 'allow', 'record:read', leaf('subject.id', 'in', ['alice', 'bob']))
  await make('Alice and admins write', 'allow', 'record:write', { any: [alice, admin] })
  await make('Archived is read-only', 'deny', 'record:write', { all: [known, archived, { none: [admin] }] })
  await make('Alice deletes softly', 'allow', 'record:delete', {
    all: [alice, leaf('action.soft', 'eq', true)],
  })
  return owner
}
