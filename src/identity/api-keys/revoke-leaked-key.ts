import { timingSafeEqual } from 'node:crypto'
import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { notifyPeople } from '../users/notify-people.ts'
import { prefixOf, readKey } from './key-text.ts'
import { findLeakedKey, type LeakedKey, listToldOfLeak, revokeKey } from './store.ts'

/**
 * Revokes a key for anybody who has it, and mails the owners of its tenant and its person. Says nothing about the key:
 * a text that is no live key changes nothing.
 */
export async function revokeLeakedKey(deps: Deps, requestInfo: RequestInfo, text: string): Promise<void> {
  const read = readKey(text)
  if (!read) return
  const at = deps.clock()
  await asSystem(deps.db, 'a caller without a session can end a key that they found', async (tx) => {
    const key = await findLeakedKey(tx, read.id, at)
    if (!key || !timingSafeEqual(key.key_hash, read.hash)) return
    if (await revokeKey(tx, { tenantId: key.tenant_id, id: key.id, at }))
      await record(tx, deps, requestInfo, key, at)
  })
}

async function record(
  tx: Tx,
  deps: Deps,
  requestInfo: RequestInfo,
  key: LeakedKey,
  at: number,
): Promise<void> {
  const { tenant_id: tenantId, id, user_id, account_id, name } = key
  await appendEvent(tx, {
    type: 'identity.api_key_revoked',
    tenantId,
    subject: id,
    data: { api_key_id: id, user_id, service_account_id: account_id },
    actorId: null,
    requestId: requestInfo.requestId,
    at,
  })
  await appendAudit(tx, {
    tenantId,
    actor: null,
    requestInfo,
    action: 'api_key:revoke',
    target: { type: 'api_key', id },
    changes: { name: { before: name, after: null } },
    at,
  })
  const holder = key.holder_email || `“${key.holder_name}”`
  const variables = { keyName: name, tenantName: key.tenant_name, prefix: prefixOf(id), holder }
  await notifyPeople(tx, deps.sealer, await listToldOfLeak(tx, key), {
    tenantId,
    template: 'api_key_leaked',
    variables,
    requestInfo: { requestId: requestInfo.requestId }, // the language of a finder says nothing of the readers
    at,
  })
}
