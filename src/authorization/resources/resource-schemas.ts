import { z } from 'zod'
import { invalidField, notFound } from '../../errors.ts'
import { serviceResources } from '../../policy-engine/catalogue/actions.ts'
import { anyObject, bodyId, rfc3339, timestamp } from '../../request/body/schemas.ts'
import { resourceType } from '../policies/policy-body.ts'
import type { ResourceName, ResourceRow, ResourceValues } from './store.ts'

const maxBytes = 16_384

/** A resource as its application registers it. The whole is replaced. */
export const resourceBody = z
  .object({
    attributes: anyObject('Give the attributes as an object.')
      .refine(
        (values) => Buffer.byteLength(JSON.stringify(values)) <= maxBytes,
        'Attributes can have at most 16 KiB.',
      )
      .default({})
      .meta({ description: 'Values of defined attributes of the category resource, by key' }),
    owner_id: bodyId.nullable().default(null).meta({ description: 'The user id of a member' }),
    department_id: bodyId.nullable().default(null),
  })
  .meta({ id: 'ResourceRegistration' })

export type ResourceBody = z.output<typeof resourceBody>

export const resourceSchema = z
  .object({
    id: z.uuid(),
    resource_type: z.string(),
    resource_id: z.string().meta({ description: 'The id that the application gave it' }),
    owner_id: z.uuid().nullable(),
    department_id: z.uuid().nullable(),
    attributes: z.record(z.string(), z.unknown()),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'RegisteredResource' })

/** A registered resource as callers read it. */
export const showResource = ({ version: _version, ...row }: ResourceRow) => ({
  ...row,
  created_at: rfc3339(row.created_at),
  updated_at: rfc3339(row.updated_at),
})

/** A registered resource as an object of the service, for policies about registering. */
export const registrationResource = (row: ResourceRow) => ({
  type: 'registered_resource',
  id: row.id,
  ownerId: row.owner_id,
  fields: showResource(row),
})

/** The values of a registered resource that the audit log records. */
export const auditedResource = ({
  resource_type,
  resource_id,
  owner_id,
  department_id,
  attributes,
}: ResourceName & ResourceValues) => ({
  resource_type,
  resource_id,
  owner_id,
  department_id,
  attributes,
})

type Params = Readonly<Record<string, string>>

const nameIn = ({ resource_type = '', resource_id = '' }: Params): ResourceName => ({
  resource_type,
  resource_id,
})

/** The name in a path, of a resource that may exist. Throws 404 for a name that none can have. */
export function pathName(params: Params): ResourceName {
  const name = nameIn(params)
  if (faultOf(name)) throw notFound()
  return name
}

/** The name in a path, of a resource to register. Throws 400 for a name that none can have. */
export function newName(params: Params): ResourceName {
  const name = nameIn(params)
  const fault = faultOf(name)
  if (fault) throw invalidField(...fault)
  return name
}

/** The field of a path and what is wrong with it, for a name that no resource can have. */
export function faultOf({ resource_type: type, resource_id: id }: ResourceName): [string, string] | null {
  const wrong = resourceType.safeParse(type).error?.issues[0]
  if (wrong) return ['resource_type', wrong.message]
  if (serviceResources.has(type))
    return ['resource_type', `${type} is a type of the service. Choose another name.`]
  if (id.length === 0 || id.length > 254 || id.includes('\0') || !id.isWellFormed())
    return ['resource_id', 'An id has 1 to 254 characters, without NUL and lone surrogates.']
  return null
}
