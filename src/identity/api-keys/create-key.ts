import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { findTenant } from '../../tenancy/tenants/store.ts'
import { notifyPerson } from '../users/notify-people.ts'
import type { NewKeyBody } from './key-schemas.ts'
import { makeKey } from './key-text.ts'
import { countLiveKeys, findKey, insertKey, type KeyHolder, type KeyRow, type KeysWanted } from './store.ts'

const maxLiveKeys = 10

/** A key that was just made. `key` is shown once. */
export interface MadeKey extends KeyRow {
  key: string
}

/** The keys of a holder. */
export const keysWanted = ({ tenantId, membershipId, userId }: KeyHolder): KeysWanted =>
  userId === null ? { tenantId, accountId: membershipId } : { tenantId, userId }

/** Creates a key for a locked holder. 409 `limit_reached` for more than 10 live keys. */
export async function createKey(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  holder: KeyHolder,
  { name, scopes, expires_in: seconds }: Omit<NewKeyBody, 'current_password'>,
): Promise<MadeKey> {
  const at = deps.clock()
  if ((await countLiveKeys(tx, holder, at)) >= maxLiveKeys)
    throw new ApiError(
      409,
      'limit_reached',
      `There are ${maxLiveKeys} live keys already, which is the limit. Delete one first.`,
    )
  return makeAndRecord(tx, deps, caller, { holder, name, scopes, lifeMs: seconds * 1000, replaces: null })
}

interface Making {
  holder: KeyHolder
  name: string
  scopes: readonly string[] | null
  lifeMs: number
  /** The id of the key that the new one replaces. */
  replaces: string | null
}

/** Inserts a key, records it, and mails the person who made it. */
export async function makeAndRecord(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  { holder, name, scopes, lifeMs, replaces }: Making,
): Promise<MadeKey> {
  const at = deps.clock()
  const id = timeOrderedId(at)
  const { key, hash } = makeKey(id)
  const { tenantId, userId, membershipId } = holder
  insertKey(tx, { ...holder, id, name, hash, scopes, createdBy: caller.userId, at, expiresAt: at + lifeMs })
  const [row, tenant] = await Promise.all([
    findKey(tx, keysWanted(holder), id),
    findTenant(tx, tenantId, caller.userId),
  ])
  if (!row) throw new Error('The new key cannot be read')
  await recordChange(tx, caller, at, {
    event: replaces === null ? 'identity.api_key_created' : 'identity.api_key_rotated',
    data: { api_key_id: id, user_id: userId, service_account_id: userId === null ? membershipId : null },
    action: replaces === null ? 'api_key:create' : 'api_key:rotate',
    target: { type: 'api_key', id },
    changes: {
      name: { before: null, after: name },
      scopes: { before: null, after: scopes },
      expires_at: { before: null, after: new Date(at + lifeMs).toISOString() },
      ...(replaces !== null && { replaces: { before: null, after: replaces } }),
    },
  })
  const ofAccount = userId === null
  await mailMaker(tx, deps, caller, {
    tenantId,
    tenantName: tenant?.name ?? '',
    keyName: name,
    ofAccount,
    at,
  })
  return { ...row, key }
}

/** A stolen session could make a key, so its person hears of each, also of the keys that they make for service accounts. */
async function mailMaker(
  tx: Tx,
  { sealer }: Deps,
  { auth, userId, requestInfo }: Caller,
  {
    tenantId,
    at,
    ...key
  }: { tenantId: string; tenantName: string; keyName: string; ofAccount: boolean; at: number },
): Promise<void> {
  await notifyPerson(tx, sealer, userId, {
    tenantId,
    template: 'api_key_created',
    variables: { ...key, firstName: auth.user.firstName },
    requestInfo,
    at,
  })
}
