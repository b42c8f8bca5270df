import type { Answer, Client, Service } from '../../helpers/service.ts'
import { expect } from '../../tenancy/staff.ts'

/** A program that calls the service with a key. */
export interface Program {
  /** The id of the key. */
  id: string
  key: string
  get(path: string): Promise<Answer>
  post(path: string, body?: unknown): Promise<Answer>
  put(path: string, body?: unknown): Promise<Answer>
  delete(path: string): Promise<Answer>
}

/** The calls of a key. */
export const programOf = (service: Service, { id, key }: { id: string; key: string }): Program => ({
  id,
  key,
  get: (path) => service.call('GET', path, { token: key }),
  post: (path, body = {}) => service.call('POST', path, { token: key, body }),
  put: (path, body = {}) => service.call('PUT', path, { token: key, body }),
  delete: (path) => service.call('DELETE', path, { token: key }),
})

/** Creates a service account with these roles, and a key of it. */
export async function createProgram(
  service: Service,
  by: Client,
  roles: string[],
  more: object = {},
): Promise<Program & { accountId: string; keys: string }> {
  const account = await expect(201, by.post('/api/v1/service-accounts/', { name: 'Program', roles }))
  const keys = `/api/v1/service-accounts/${account.id}/keys/`
  const made = await expect(201, by.post(keys, { name: 'First', ...more }))
  return { ...programOf(service, made), accountId: account.id, keys }
}

/** Creates a personal key. */
export const createOwnKey = async (service: Service, by: Client, more: object = {}): Promise<Program> =>
  programOf(service, await expect(201, by.post('/api/v1/users/me/keys/', { name: 'Laptop', ...more })))
