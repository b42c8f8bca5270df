import { isDeepStrictEqual } from 'node:util'
import { asSystem, type Databases } from '../../database/executor/transaction.ts'
import { invalidState, notFound } from '../../errors.ts'
import type { ManifestClients } from '../../installation/manifests/manifest-schema.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Config } from '../../settings/config.ts'
import { isFree, ownIdentifier } from '../resources/check-resource.ts'
import { manifestResource } from '../resources/resource-schemas.ts'
import { replaceManifestResources } from '../resources/store.ts'
import { maxSecrets, tooManySecrets } from './change-secrets.ts'
import { faultsOf } from './check-client.ts'
import { defaultsOf } from './client-defaults.ts'
import { makeSecret, manifestRowId, readClientId } from './client-id.ts'
import { manifestClient, type NewClient } from './client-schemas.ts'
import {
  deleteOldManifestSecrets,
  disableOtherClients,
  findManifestClient,
  insertManifestSecret,
  lockManifestClient,
  type ManifestClientRow,
  putManifestClient,
} from './manifest-store.ts'
import { usesSecrets } from './store.ts'
import { whereAndHow } from './update-client.ts'

/** What a manifest says of its clients, and how they are stored. */
export const manifestClients = (config: Config): ManifestClients => ({
  forms: {
    client: manifestClient.superRefine((client, context) => {
      for (const [field, message] of faultsOf(wholeFields(client), config))
        context.addIssue({ code: 'custom', message, path: field.split('.'), input: client })
    }),
    resource: manifestResource.refine(
      ({ identifier }) =>
        !URL.canParse(identifier) ||
        isFree({ config, publicUrl: () => config.PUBLIC_URL ?? 'http://localhost' }, identifier),
      { path: ['identifier'], message: ownIdentifier },
    ),
  },
  async store(tx, { application, clients = {}, resources = {} }, at) {
    const stored = Object.entries(clients).map(([key, fields]) => ({
      id: manifestRowId(application, key),
      application,
      key,
      fields: fields as NewClient,
      at,
    }))
    for (const client of stored) {
      const before = await findManifestClient(tx, client.id)
      putManifestClient(tx, { ...client, voids: before !== null && leadsElsewhere(before, client.fields) })
    }
    disableOtherClients(
      tx,
      application,
      stored.map(({ id }) => id),
    )
    const apis = Object.values(resources).map(({ clients: keys, ...resource }) => ({
      ...resource,
      client_ids: [...new Set(keys)].map((one) => manifestRowId(application, one)),
    }))
    replaceManifestResources(tx, application, apis)
  },
})

const wholeFields = (client: NewClient) => ({ ...defaultsOf(client.kind), ...client })

function leadsElsewhere({ fields }: ManifestClientRow, next: NewClient): boolean {
  const [was, is] = [{ ...defaultsOf(fields.kind), ...fields }, wholeFields(next)]
  return ([...whereAndHow, 'scopes'] as const).some((field) => !isDeepStrictEqual(was[field], is[field]))
}

/**
 * Gives a client of a manifest a secret, which is shown once. The secret before works on; with `endsOldest`, one before that
 * ends. 404 for an id that no manifest has, 409 `invalid_state` for a client without secrets, and `limit_reached` for one with two.
 */
export async function addManifestSecret(
  { db, clock }: { db: Pick<Databases, 'system'>; clock: () => number },
  clientId: string,
  { endsOldest }: { endsOldest: boolean },
): Promise<string> {
  const key = readClientId(clientId)
  const { secret, hash } = makeSecret()
  await asSystem(db, 'manifests belong to no tenant', async (tx) => {
    if (key) lockManifestClient(tx, key.id)
    const client = key && (await findManifestClient(tx, key.id))
    if (!client?.is_active) throw notFound()
    const whole = wholeFields(client.fields as NewClient)
    if (!usesSecrets(whole))
      throw invalidState('This client has no secret.', whole.token_endpoint_auth_method)
    if (endsOldest) deleteOldManifestSecrets(tx, client.id)
    else if (client.secret_hashes.length >= maxSecrets) throw tooManySecrets()
    const at = clock()
    insertManifestSecret(tx, { id: timeOrderedId(at), clientId: client.id, hash, at })
  })
  return secret
}
