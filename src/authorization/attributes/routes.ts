import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { pageOf } from '../../lists/lists.ts'
import { dataTypes } from '../../policy-engine/compile/conditions.ts'
import { managedBy, timestamp } from '../../request/body/schemas.ts'
import { pathId } from '../../request/path-id.ts'
import { type Route, route, type Target } from '../../request/route.ts'
import { defineAttribute, removeDefinition } from './define-attribute.ts'
import { newDefinition, scalar } from './definition-body.ts'
import { attributes, definitionResource, findAnyDefinition, showDefinition } from './read-attributes.ts'
import { categories, sources } from './store.ts'

const definitionSchema = z
  .object({
    id: z.uuid(),
    key: z.string(),
    display_name: z.string(),
    category: z.enum(categories),
    data_type: z.enum(dataTypes),
    allowed_values: z.array(scalar).nullable(),
    is_required: z.boolean(),
    description: z.string(),
    source: z.enum(sources),
    managed_by: managedBy,
    is_system: z.boolean().meta({ description: 'Built in: the same in every tenant, cannot be deleted' }),
    created_at: timestamp,
  })
  .meta({ id: 'AttributeDefinition' })

const tag = 'Attributes'
const one = '/api/v1/attribute-definitions/:id'

export const attributeRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    action: 'attribute_definition:list',
    tag,
    summary: 'List the attributes that policies can name',
    status: 200,
    answer: pageOf(definitionSchema),
    ...attributes(deps),
  }),
  route({
    method: 'POST',
    path: '/api/v1/attribute-definitions',
    action: 'attribute_definition:create',
    tag,
    summary: 'Define an attribute',
    description: 'The type of an attribute cannot be changed. For another type, define a new key.',
    body: newDefinition,
    status: 201,
    answer: definitionSchema,
    refusals: [409],
    act: async (tx, { caller, body }) => showDefinition(await defineAttribute(tx, deps, caller, body)),
  }),
  route({
    method: 'GET',
    path: one,
    action: 'attribute_definition:list',
    tag,
    summary: 'Read the definition of an attribute',
    status: 200,
    answer: definitionSchema,
    load: (read, { caller, params }) => findAnyDefinition(read, caller.tenantId, pathId(params.id)),
    resource: definitionResource,
    handle: (_input, definition) => showDefinition(definition),
  }),
  route({
    method: 'DELETE',
    path: one,
    action: 'attribute_definition:delete',
    tag,
    summary: 'Delete the definition of an attribute',
    status: 204,
    answer: null,
    refusals: [409],
    load: (tx, { caller, params }: Target) => findAnyDefinition(tx, caller.tenantId, pathId(params.id)),
    resource: definitionResource,
    act: (tx, { caller }, definition) => removeDefinition(tx, deps, caller, definition),
  }),
]
