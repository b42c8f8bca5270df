import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { assertMayActAs } from './assert-may-act-as.ts'
import { assertMayEdit, assertSound, keepsFirstParty } from './check-client.ts'
import { clientIdOf } from './client-id.ts'
import { auditedClient, type ClientChange } from './client-schemas.ts'
import { type ClientRow, changeClient } from './store.ts'

/**
 * Changes a client; it takes effect at its next request. New redirect URIs, keys or scopes void the consents that people
 * gave, and new redirect URIs or keys of someone who is no owner end `first_party`. Refusals are those of a new client.
 */
export async function updateClient(
  tx: Tx,
  { clock, config }: Deps,
  caller: Caller,
  client: ClientRow,
  { body, ifMatch }: { body: ClientChange; ifMatch: Versions },
): Promise<ClientRow> {
  const at = clock()
  assertAmong(ifMatch, client.version)
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
  const wanted: ClientRow = { ...client, ...given }
  const answersElsewhere = whereAndHow.some((field) => !isDeepStrictEqual(wanted[field], client[field]))
  const next = {
    ...wanted,
    first_party: wanted.first_party && (!answersElsewhere || keepsFirstParty(caller)),
  }
  if (isDeepStrictEqual(auditedClient(next), auditedClient(client))) return client
  assertSound(next, config)
  // An editor who lacks its permissions can still switch it off.
  if (!isDeepStrictEqual(given, { is_active: false })) {
    assertMayEdit(caller, next, client)
    await assertMayActAs(tx, { clock }, caller, next)
  }
  const isVoid = answersElsewhere || !isDeepStrictEqual(next.scopes, client.scopes)
  const changed = { ...next, consents_from: isVoid ? at : client.consents_from, version: client.version + 1 }
  const key = { tenantId: client.tenant_id, id: client.id }
  changeClient(tx, { ...changed, ...key, at })
  await recordChange(tx, caller, at, {
    event: 'application.client_updated',
    data: { client_id: clientIdOf(key) },
    action: 'oauth_client:update',
    target: { type: 'oauth_client', id: client.id },
    changes: changesBetween(auditedClient(client), auditedClient(changed)),
  })
  return changed
}

/** The fields that say where a client answers, and how it proves itself. */
export const whereAndHow = ['redirect_uris', 'post_logout_redirect_uris', 'jwks', 'jwks_uri'] as const
