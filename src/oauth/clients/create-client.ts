import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { assertMayActAs } from './assert-may-act-as.ts'
import { assertMayEdit, assertSound } from './check-client.ts'
import { defaultsOf } from './client-defaults.ts'
import { clientIdOf } from './client-id.ts'
import { auditedClient, type NewClient } from './client-schemas.ts'
import { type ClientRow, countClients, insertClient } from './store.ts'

const maxClients = 200

/** Registers a client. 400 for fields that do not go together, 403 for more than the caller has, 409 `limit_reached`. */
export async function createClient(
  tx: Tx,
  { clock, config }: Deps,
  caller: Caller,
  body: NewClient,
): Promise<ClientRow> {
  const { tenantId, userId: createdBy } = caller
  const at = clock()
  const id = timeOrderedId(at)
  const client = { ...defaultsOf(body.kind), ...body }
  assertSound(client, config)
  assertMayEdit(caller, client, null)
  await assertMayActAs(tx, { clock }, caller, client)
  await lockTenant(tx, tenantId)
  if ((await countClients(tx, tenantId)) >= maxClients)
    throw new ApiError(409, 'limit_reached', `A tenant can have at most ${maxClients} clients.`)
  insertClient(tx, { ...client, tenantId, id, createdBy, at })
  const key = { tenantId, id }
  await recordChange(tx, caller, at, {
    event: 'application.client_created',
    data: { client_id: clientIdOf(key) },
    action: 'oauth_client:create',
    target: { type: 'oauth_client', id },
    changes: changesBetween(null, auditedClient(client)),
  })
  const made = { id, tenant_id: tenantId, created_by: createdBy, created_at: at }
  return { ...client, ...made, consents_from: at, last_used_at: null, version: 1 }
}
