import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, invalidState, notFound } from '../../errors.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { assertMayActAs } from './assert-may-act-as.ts'
import { assertMayEdit, keepsFirstParty } from './check-client.ts'
import { clientIdOf, makeSecret } from './client-id.ts'
import {
  type ClientRow,
  changeClient,
  deleteSecret,
  insertSecret,
  listSecrets,
  type SecretRow,
  usesSecrets,
} from './store.ts'

export const maxSecrets = 2

/** 409: one has to be deleted first. */
export const tooManySecrets = () =>
  new ApiError(409, 'limit_reached', `A client can have at most ${maxSecrets} secrets. Delete one first.`)

/**
 * Gives a locked client a secret, which is shown once. Someone who is no owner ends `first_party` by it. 409 for a client
 * that has none, or two already. That of a machine asks what a key of its account asks.
 */
export async function addSecret(
  tx: Tx,
  { clock }: Pick<Deps, 'clock'>,
  caller: Caller,
  client: ClientRow,
): Promise<SecretRow & { secret: string }> {
  const key = { tenantId: client.tenant_id, id: client.id }
  assertMayEdit(caller, client, client)
  await assertMayActAs(tx, { clock }, caller, client)
  if (!usesSecrets(client))
    throw invalidState('This client has no secret.', client.token_endpoint_auth_method)
  if ((await listSecrets(tx, key)).length >= maxSecrets) throw tooManySecrets()
  const at = clock()
  const id = timeOrderedId(at)
  const { secret, hash } = makeSecret()
  insertSecret(tx, { tenantId: key.tenantId, id, clientId: client.id, hash, createdBy: caller.userId, at })
  const isDemoted = client.first_party && !keepsFirstParty(caller)
  if (isDemoted) changeClient(tx, { ...client, ...key, first_party: false, at })
  await recordChange(tx, caller, at, {
    event: 'application.client_secret_created',
    data: { client_id: clientIdOf(key) },
    action: 'oauth_client:update',
    target: { type: 'oauth_client', id: client.id },
    changes: {
      added_credential: { before: null, after: id },
      ...(isDemoted && { first_party: { before: true, after: false } }),
    },
  })
  return { id, created_at: at, last_used_at: null, secret }
}

/** Deletes a secret: it is refused from the next request on. */
export async function removeSecret(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  client: ClientRow,
  secretId: string,
): Promise<void> {
  const key = { tenantId: client.tenant_id, id: client.id }
  if (!(await deleteSecret(tx, key, secretId))) throw notFound()
  await recordChange(tx, caller, clock(), {
    event: 'application.client_updated',
    data: { client_id: clientIdOf(key) },
    action: 'oauth_client:delete',
    target: { type: 'oauth_client', id: client.id },
    changes: { removed_credential: { before: secretId, after: null } },
  })
}
