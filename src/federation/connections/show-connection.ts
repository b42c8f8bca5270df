import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { rfc3339, timestamp } from '../../request/body/schemas.ts'
import { callbackOf, serviceProviderOf } from './addresses.ts'
import { type ConnectionRow, directorySubjects, joinings, statuses } from './store.ts'

const shown = z.object({
  id: z.uuid(),
  name: z.string(),
  status: z.enum(statuses),
  subject_attribute: z.string(),
  mapping: z.array(
    z.object({
      claim: z.string(),
      value: z.string(),
      roles: z.array(z.uuid()).meta({ description: 'Ids of roles' }),
      department_id: z.uuid().nullable(),
    }),
  ),
  jit: z.enum(joinings),
  trusts_mfa: z.boolean(),
  directory_subject: z.enum(directorySubjects).nullable(),
  tested_at: timestamp.nullable().meta({ description: 'The last sign-in that tried it as it is now' }),
  activated_at: timestamp.nullable(),
  activator_left_at: timestamp.nullable().meta({
    description: 'Since when the person who activated it holds less than then: activate it anew',
  }),
  created_at: timestamp,
})

const shownOidc = z.object({
  issuer: z.string(),
  client_id: z.string(),
  scopes: z.array(z.string()),
  redirect_uri: z.url().meta({ description: 'To register at the provider' }),
})

const shownSaml = z.object({
  metadata_url: z.string().nullable(),
  entity_id: z.string().meta({ description: 'Of the identity provider' }),
  sign_in_url: z.string(),
  certificates: z.array(z.object({ sha256: z.string(), ends_at: timestamp })),
  read_at: timestamp.meta({ description: 'When the metadata that counts was read' }),
  fault: z
    .string()
    .nullable()
    .meta({ description: 'Why what is at `metadata_url` now does not count; null: it counts' }),
  service_provider: z.object({
    entity_id: z.url().meta({ description: 'Our entity id, which is also where our metadata is' }),
    acs_url: z.url().meta({ description: 'Where the identity provider posts its responses' }),
  }),
})

export const connectionSchema = z
  .discriminatedUnion('kind', [
    shown.extend({ kind: z.literal('oidc'), oidc: shownOidc }),
    shown.extend({ kind: z.literal('saml'), saml: shownSaml }),
  ])
  .meta({ id: 'Connection' })

function configOf(row: ConnectionRow) {
  if (row.kind === 'oidc') return { kind: row.kind, oidc: row.config }
  const { certificates, ...config } = row.config
  return {
    kind: row.kind,
    saml: { ...config, certificates: certificates.map(({ pem: _pem, ...one }) => one) },
  }
}

/** What a connection is, for answers and for the audit log. */
export const settingsOf = (row: ConnectionRow) => ({
  name: row.name,
  status: row.status,
  ...configOf(row),
  subject_attribute: row.subject_attribute,
  mapping: row.mapping,
  jit: row.jit,
  trusts_mfa: row.trusts_mfa,
  directory_subject: row.directory_subject,
})

const timeOrNull = (at: number | null) => (at === null ? null : rfc3339(at))

const fieldsOf = (row: ConnectionRow) => ({
  id: row.id,
  ...settingsOf(row),
  tested_at: timeOrNull(row.tested_at),
  activated_at: timeOrNull(row.activated_at),
  activator_left_at: timeOrNull(row.activator_left_at),
  created_at: rfc3339(row.created_at),
})

/** A connection with what to copy to the provider. */
export const showConnection =
  (deps: Pick<Deps, 'publicUrl'>) =>
  (row: ConnectionRow): z.input<typeof connectionSchema> => {
    const fields = fieldsOf(row)
    if (fields.kind === 'oidc')
      return { ...fields, oidc: { ...fields.oidc, redirect_uri: callbackOf(deps, row.id) } }
    const { entityId: entity_id, acsUrl: acs_url } = serviceProviderOf(deps, row.id)
    return { ...fields, saml: { ...fields.saml, service_provider: { entity_id, acs_url } } }
  }

/** A connection as a resource in policies. It has no owner. */
export const connectionResource = (row: ConnectionRow) => ({
  type: 'connection',
  id: row.id,
  fields: fieldsOf(row),
})

/** Whether two states of a connection can sign in other people, or give them other rights: then it has to be tried again. */
export const isOtherSignIn = (before: ConnectionRow, after: ConnectionRow): boolean =>
  !isDeepStrictEqual(signInOf(before), signInOf(after))

const signInOf = (row: ConnectionRow) => ({
  ...providerOf(row),
  subject_attribute: row.subject_attribute,
  mapping: row.mapping.map((one) => ({ ...one })),
  jit: row.jit,
  trusts_mfa: row.trusts_mfa,
})

/** Certificates that an address gives are those that its owner trusts, also when they change there. */
function providerOf({ kind, config }: ConnectionRow) {
  if (kind === 'oidc') return { issuer: config.issuer, client_id: config.client_id }
  const { entity_id, metadata_url, certificates } = config
  return { entity_id, trusted: metadata_url ?? certificates.map(({ sha256 }) => sha256).sort() }
}
