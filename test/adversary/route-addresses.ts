import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Route } from '../../src/request/route.ts'
import { listRoutes } from '../../src/start/app.ts'
import type { Client, Service } from '../helpers/service.ts'

/** Every route of the registry; new routes are included automatically. */
export const routesOf = (service: Service): Route[] =>
  listRoutes(service.deps, { ready: async () => undefined, drain() {} })

/** The routes that need a token. */
export const decidedRoutes = (service: Service): Route[] =>
  routesOf(service).filter(({ access }) => access === 'token')

export const nameOf = ({ method, path }: Pick<Route, 'method' | 'path'>): string => `${method} ${path}`

/** The address of a route with `ids` as its parameters in order, and random ids for the others. */
export const addressOf = ({ path }: Pick<Route, 'path'>, ...ids: string[]): string =>
  `${path.replace(/:\w+/g, () => ids.shift() ?? randomUUID())}${path.startsWith('/api/') ? '/' : ''}`

/** The first parameter of routes below `/tenants/:id` is the caller's tenant. */
export const ownIds = ({ scope }: Route, { tenantId }: { tenantId: string }): string[] =>
  scope === 'token' ? [] : [tenantId]

/** A request to a route without anything that a validator could complain about before the caller is checked. */
export const visit = (service: Service, route: Route, token: string | undefined, ...ids: string[]) =>
  service.call(route.method, addressOf(route, ...ids), {
    token,
    ...(route.method !== 'GET' && { body: {} }),
  })

// biome-ignore lint/suspicious/noExplicitAny: a JSON Schema
type Json = any

/** The members that a body or query of a route can have, as JSON Schema. */
export function membersOf(schema: z.ZodType | undefined): Record<string, Json> {
  if (!schema) return {}
  const json: Json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const documented = (form: Json): Json => {
    const named = form.$ref ? json.$defs[form.$ref.replace('#/$defs/', '')] : form
    return named.override ?? named
  }
  const whole = documented(json)
  const forms: Json[] = whole.anyOf ?? whole.oneOf ?? whole.allOf ?? [whole]
  return Object.assign({}, ...forms.map((form) => documented(form).properties ?? {}))
}

/** Finds an object of the caller for each collection: the first id in its list. */
export async function ownObjects(client: Client, routes: readonly Route[]): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const { method, path } of routes) {
    const list = path.replace('/tenants/:id/', `/tenants/${client.tenantId}/`)
    if (method !== 'GET' || list.includes(':')) continue
    const { body } = await client.get(list.startsWith('/api/') ? `${list}/` : list)
    const id = body?.results?.[0]?.id
    if (typeof id === 'string') found.set(path, id)
  }
  return found
}

/** The address of a route with the caller's own objects in its path; random ids where there is none. */
export function ownAddress({ path }: Route, client: Client, objects: ReadonlyMap<string, string>): string {
  let address = ''
  const parts = path.split('/').slice(1)
  for (const [n, part] of parts.entries()) {
    const collection = `/${parts.slice(0, n).join('/')}`
    const own = collection === '/api/v1/tenants' ? client.tenantId : objects.get(collection)
    // A UUID would be a type or not, as its first character happens to be.
    const parameter = part === ':resource_type' ? 'document' : (own ?? randomUUID())
    address += `/${part.startsWith(':') ? parameter : part}`
  }
  return path.startsWith('/api/') ? `${address}/` : address
}
