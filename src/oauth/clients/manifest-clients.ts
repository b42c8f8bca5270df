import { isDeepStrictEqual } from 'node:util'
import { asSystem, type Databases } from '../../database/executor/transaction.ts'
import { invalidState, notFound } from '../../errors.ts'
import type { ManifestClients } from '../../installation/manifests/manifest-schema.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Config } from '../../settings/config.ts'
import { faultsOf } from './check-client.ts'
import { defaultsOf } from './client-defaults.ts'
import { makeSecret, manifestRowId, readClientId } from './client-id.ts'
import { manifestClient, type NewClient } from './client-schemas.ts'
import {
  disableOtherClients,
  findManifestClient,
  insertManifestSecret,
  type ManifestClientRow,
  putManifestClient,
} from './manifest-store.ts'
import { whereAndHow } from './update-client.ts'

/** What a manifest says of its clients, and how they are stored. */
export const manifestClients = (config: Config): ManifestClients => ({
  form: manifestClient.superRefine((client, context) => {
    for (const [field, message] of faultsOf(wholeFields(client), config))
      context.addIssue({ code: 'custom', message, path: field.split('.'), input: client })
  }),
  async store(tx, application, clients, at) {
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
  },
})

const wholeFields = (client: NewClient) => ({ ...defaultsOf(client.kind), ...client })

function leadsElsewhere({ fields }: ManifestClientRow, next: NewClient): boolean {
  const [was, is] = [{ ...defaultsOf(fields.kind), ...fields }, wholeFields(next)]
  return ([...whereAndHow, 'scopes'] as const).some((field) => !isDeepStrictEqual(was[field], is[field]))
}

/**
 * Gives a client of a manifest a secret, which is shown once. The secret before works on, older ones end. 404 for an id that no
 * manifest has, 409 `invalid_state` for a client without secrets.
 */
export async function addManifestSecret(
  { db, clock }: { db: Pick<Databases, 'system'>; clock: () => number },
  clientId: string,
): Promise<string> {
  const key = readClientId(clientId)
  const { secret, hash } = makeSecret()
  await asSystem(db, 'manifests belong to no tenant', async (tx) => {
    const client = key && (await findManifestClient(tx, key.id))
    if (!client?.is_active) throw notFound()
    const { kind, token_endpoint_auth_method: method } = {
      ...defaultsOf(client.fields.kind),
      ...client.fields,
    }
    if (method === 'none') throw invalidState(`A client of the kind ${kind} has no secret.`, 'none')
    const at = clock()
    insertManifestSecret(tx, { id: timeOrderedId(at), clientId: client.id, hash, at })
  })
  return secret
}
