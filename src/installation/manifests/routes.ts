import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { type Route, route } from '../../request/route.ts'
import type { Manifest } from './manifest-schema.ts'
import { listDocuments } from './store.ts'

const application = z
  .object({
    application: z.string().meta({ description: 'As in `managed_by`' }),
    name: z.string(),
    description: z.string(),
    version: z.int().meta({ description: 'Of its manifest' }),
    resource_types: z.array(
      z.object({
        type: z.string().meta({ example: 'voyage' }),
        description: z.string(),
        actions: z.array(
          z.object({ name: z.string().meta({ example: 'voyage:depart' }), description: z.string() }),
        ),
      }),
    ),
  })
  .meta({ id: 'Application' })

const showApplication = ({ document, version }: { document: Manifest; version: number }) => ({
  application: document.application,
  name: document.name,
  description: document.description,
  version,
  resource_types: Object.entries(document.resource_types).map(([type, { description, actions }]) => ({
    type,
    description,
    actions: Object.entries(actions).map(([verb, sentence]) => ({
      name: `${type}:${verb}`,
      description: sentence,
    })),
  })),
})

export const applicationRoutes = (_deps: Deps): Route[] => [
  route({
    method: 'GET',
    path: '/api/v1/applications',
    action: 'attribute_definition:list',
    tag: 'Attributes',
    summary: 'List the applications, with the resource types and actions that policies and roles can name',
    description: 'From the manifests that the operator applied. They are the same in every tenant.',
    status: 200,
    answer: z.object({ applications: z.array(application) }),
    load: listDocuments,
    handle: (_input, documents) => ({ applications: documents.map(showApplication) }),
  }),
]
