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
