import { z } from 'zod'
import { newDefinition } from '../../authorization/attributes/definition-body.ts'
import { draftPolicy } from '../../authorization/policies/policy-body.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import type { ReceiverRules } from '../../events/webhooks/public-address.ts'
import { eventTypes, webhookDescription, webhookUrl } from '../../events/webhooks/webhook-schemas.ts'
import {
  attributeName,
  isReservedKey,
  reservedKeySentence,
} from '../../policy-engine/catalogue/attribute-keys.ts'
import { applicationName } from '../../request/body/schemas.ts'
import { newRole } from '../../tenancy/roles/role-schemas.ts'

const maxActions = 100

const key = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,62}$/, 'A key has 1 to 63 of a-z, 0-9, _ and -, and begins with a letter.')
const word = z
  .string()
  .regex(/^[a-z][a-z0-9_.-]{0,62}$/, 'A name has 1 to 63 of a-z, 0-9, _, . and -, and begins with a letter.')
const attribute = z
  .string()
  .regex(
    attributeName,
    'An attribute is category.key: subject, resource, action or environment, a dot, and up to 63 of a-z, A-Z, 0-9 and _.',
  )
  .refine((name) => !isReservedKey(name), reservedKeySentence)
const sentence = z
  .string('Describe it in a sentence.')
  .trim()
  .min(1, 'Describe it in a sentence.')
  .max(500, 'A description here has 500 characters at most.')

const entries = <Entry extends z.ZodType>(name: z.ZodString, entry: Entry, what: string, max: number) =>
  z
    .record(name, entry, `Give ${what} as an object of entries by name.`)
    .refine((all) => Object.keys(all).length <= max, `There can be ${max} ${what} at most.`)
    .default({})

/** What a manifest says of parts that others define. */
export interface ManifestForms {
  /** Where its webhooks can lead. */
  receivers: ReceiverRules
  /** A client of OpenID Connect. */
  client: z.ZodType<Record<string, unknown>>
  resource: z.ZodType<ManifestResource>
}

/** An API of an application. `clients`: the keys of those that can introspect its tokens. */
export interface ManifestResource {
  identifier: string
  name: string
  scopes: { permission: string; description: string }[]
  clients: string[]
}

/** The clients and APIs of OpenID Connect that manifests have. */
export interface ManifestClients {
  forms: Pick<ManifestForms, 'client' | 'resource'>
  /** Stores those of an application. Clients that it no longer has are disabled. As the system role. */
  store(tx: Tx, manifest: Manifest, at: number): Promise<void>
}

/** A manifest as its author writes it. Unknown members are faults: a misspelt one would have no effect. */
export const manifestSchema = ({ receivers, client, resource }: ManifestForms) =>
  z.object({
    $schema: z.string().optional(),
    application: applicationName,
    name: z
      .string('Give the name of the application as text.')
      .trim()
      .min(1, 'Give the application a name.')
      .max(120, 'A name has 120 characters at most.'),
    description: z.string().max(2000, 'A description has 2000 characters at most.').default(''),
    resource_types: entries(
      word,
      z.object({
        description: sentence,
        actions: entries(word, sentence, 'actions', maxActions),
      }),
      'resource_types',
      100,
    ),
    attributes: entries(attribute, newDefinition.omit({ key: true, category: true }), 'attributes', 200),
    roles: entries(key, newRole, 'roles', 100),
    policies: entries(
      key,
      z.object({
        ...draftPolicy.shape,
        // Without a default: a manifest that does not say its kind is the same as before modules.
        kind: draftPolicy.shape.kind.unwrap().optional(),
        optional: z.boolean('Give optional as true or false.').default(false),
      }),
      'policies',
      100,
    ),
    webhooks: entries(
      key,
      z.object({
        url: webhookUrl(receivers),
        description: webhookDescription.default(''),
        event_types: eventTypes.prefault([]),
      }),
      'webhooks',
      10,
    ),
    // Without a default: a manifest without them is the same as before there were any.
    clients: entries(key, client, 'clients', 20).unwrap().optional(),
    resources: entries(key, resource, 'resources', 20).unwrap().optional(),
  })

/** A checked manifest, with defaults. Times are ms since 1970. */
export type Manifest = z.output<ReturnType<typeof manifestSchema>>
