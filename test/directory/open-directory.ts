import { query } from '../helpers/query.ts'
import type { Call, Client, Service } from '../helpers/service.ts'
import { expect } from '../tenancy/staff.ts'

export const scimType = 'application/scim+json'

/** A directory of the owner's tenant: a service account with a key. */
export async function openDirectory(service: Service, owner: Client) {
  const tenant = `/api/v1/tenants/${owner.tenantId}/`
  const name = `Directory ${crypto.randomUUID()}`
  await expect(201, owner.post(`${tenant}roles/`, { name, permissions: ['scim:provision'] }))
  const account = await expect(201, owner.post('/api/v1/service-accounts/', { name, roles: [name] }))
  const made = owner.post(`/api/v1/service-accounts/${account.id}/keys/`, {
    name: 'Directory',
    expires_in: 90,
  })
  const { key } = await expect(201, made)
  const call = (method: string, path: string, body?: unknown, more: Call = {}) =>
    service.call(method, `/scim/v2${path}`, {
      token: key,
      ...(body !== undefined && { body }),
      ...more,
      headers: { ...(body !== undefined && { 'content-type': scimType }), ...more.headers },
    })
  return {
    account,
    key: key as string,
    call,
    get: (path: string, more?: Call) => call('GET', path, undefined, more),
    post: (path: string, body: unknown, more?: Call) => call('POST', path, body, more),
    put: (path: string, body: unknown, more?: Call) => call('PUT', path, body, more),
    patch: (path: string, body: unknown, more?: Call) => call('PATCH', path, body, more),
    delete: (path: string, more?: Call) => call('DELETE', path, undefined, more),
  }
}

export type Directory = Awaited<ReturnType<typeof openDirectory>>

/** An error of SCIM. */
export const scimError = (status: number, scimType?: string) => ({
  status,
  body: {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
    status: String(status),
    ...(scimType && { scimType }),
    detail: String,
  },
})

/** A group of the owner's tenant, as if a directory had made it; its id. */
export async function addGroup(service: Service, { tenantId }: Client): Promise<string> {
  const id = crypto.randomUUID()
  await query(
    service.databases.superuser,
    `insert into directory_groups (tenant_id, id, display_name, created_at, updated_at)
     values ('${tenantId}', '${id}', '${id}', now(), now())`,
  )
  return id
}

let domains = 0
/** A tenant that has verified a domain, with a directory. */
export async function openFirm(service: Service) {
  const owner = await service.signUp()
  const directory = await openDirectory(service, owner)
  const domain = `firm${++domains}.example`
  await query(
    service.databases.superuser,
    `insert into domains (tenant_id, id, domain, status, record_value, route, subdomains, verified_at, asked_at, created_by, created_at, updated_at)
     values ('${owner.tenantId}', gen_random_uuid(), '${domain}', 'verified', 'x', 'always', false, now(), now(), '${owner.id}', now(), now())`,
  )
  return { owner, directory, domain, members: `/api/v1/tenants/${owner.tenantId}/members/` }
}
/** A User as directories send it. */
export const user = (userName: string, more: object = {}) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
  userName,
  name: { givenName: 'Ada', familyName: 'Lovelace' },
  emails: [{ value: userName, type: 'work', primary: true }],
  active: true,
  ...more,
})

/** The body of a PATCH. */
export const patch = (...Operations: object[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
})

/** The member with an address, or undefined. */
export const memberOf = async (owner: Client, members: string, email: string) =>
  (await expect(200, owner.get(`${members}?search=${email}`))).results[0]
