import type { Client, Service } from './service.ts'

/** A new user who is a member of the owner's tenant with a role, and has switched to it. */
export async function colleague(service: Service, owner: Client, role = 'member'): Promise<Client> {
  const person = await service.signUp()
  const body = { user_id: person.id, roles: [role] }
  const added = await owner.post(`/api/v1/tenants/${owner.tenantId}/members/`, body)
  if (added.status !== 201) throw new Error(`Expected a member, got ${JSON.stringify(added.body)}`)
  await person.switchTo(owner.tenantId)
  return person
}
