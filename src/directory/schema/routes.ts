import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { notFound } from '../../errors.ts'
import { type Route, route } from '../../request/route.ts'
import { listSubjectAttributes } from '../../tenancy/members/store.ts'
import { listResponse, maxCount } from '../list-response.ts'
import { groupType, type ResourceType, type Schema, schemas, userType } from './attributes.ts'
import { ownSchemas } from './own-attributes.ts'

const resourceTypes = [userType, groupType]
const anyObject = z.record(z.string(), z.unknown())

/** What the service can do (RFC 7644 §4). */
export function serviceRoutes({ publicUrl }: Pick<Deps, 'publicUrl'>): Route[] {
  const at = (path: string) => `${publicUrl()}/scim/v2${path}`
  const get = (path: string, summary: string, handle: (id: string, own: readonly Schema[]) => object) =>
    route({
      method: 'GET',
      path: `/scim/v2${path}`,
      action: 'scim:provision',
      tag: 'SCIM',
      summary,
      status: 200,
      answer: anyObject,
      load: async (read, { caller }) => ownSchemas(await listSubjectAttributes(read, caller.tenantId)),
      handle: ({ params }, own) => ({ ...handle(params.id ?? '', own) }),
    })
  const shown = {
    type: (own: readonly Schema[]) => (type: ResourceType) => showResourceType(type, own, at),
    schema: (schema: Schema) => showSchema(schema, at),
  }
  const found = <T>(item: T | undefined): T => {
    if (item === undefined) throw notFound()
    return item
  }
  return [
    get('/ServiceProviderConfig', 'What the service supports', () => config(at('/ServiceProviderConfig'))),
    get('/ResourceTypes', 'The kinds of resources', (_id, own) =>
      listResponse(resourceTypes.map(shown.type(own))),
    ),
    get('/ResourceTypes/:id', 'A kind of resources', (id, own) =>
      shown.type(own)(found(resourceTypes.find(({ name }) => name === id))),
    ),
    get('/Schemas', 'The schemas of resources', (_id, own) =>
      listResponse([...schemas, ...own].map(shown.schema)),
    ),
    get('/Schemas/:id', 'A schema of resources', (id, own) =>
      shown.schema(found([...schemas, ...own].find((schema) => schema.id === id))),
    ),
  ]
}

function config(location: string) {
  const bearer = (type: string, name: string, description: string) => ({
    type,
    name,
    description,
    specUri: 'https://www.rfc-editor.org/info/rfc6750',
  })
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: maxCount },
    changePassword: { supported: false },
    sort: { supported: true },
    etag: { supported: true },
    authenticationSchemes: [
      {
        ...bearer('oauthbearertoken', 'API key', 'The API key of a service account with scim:provision'),
        primary: true,
      },
      bearer('oauth2', 'Client credentials', 'A token of a machine, from the token endpoint'),
    ],
    meta: { resourceType: 'ServiceProviderConfig', location },
  }
}

const showResourceType = (
  { name, path, schema, extensions }: ResourceType,
  own: readonly Schema[],
  at: (path: string) => string,
) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
  id: name,
  name,
  description: schema.description,
  endpoint: path,
  schema: schema.id,
  schemaExtensions: extensions
    .filter(({ id, isOpen }) => !isOpen || own.some((schema) => schema.id === id))
    .map(({ id }) => ({ schema: id, required: false })),
  meta: { resourceType: 'ResourceType', location: at(`/ResourceTypes/${name}`) },
})

const showSchema = (schema: Schema, at: (path: string) => string) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
  ...schema,
  meta: { resourceType: 'Schema', location: at(`/Schemas/${schema.id}`) },
})
