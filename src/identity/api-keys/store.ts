import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import type { Statements } from '../../database/executor/statements.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { defineList, type ListPage } from '../../lists/list.ts'
import type { Bearer } from '../../request/caller.ts'
import { accountsOf, authContextRow, noConnection, persons, readContext } from '../sessions/context-store.ts'

/** Whose keys: those of a service account, or of a person in a tenant. */
export interface KeyHolder {
  tenantId: string
  membershipId: string
  /** Null for a service account. */
  userId: string | null
}

const keyRow = z.object({
  id: z.uuid(),
  membership_id: z.uuid(),
  user_id: z.uuid().nullable(),
  name: z.string(),
  scopes: z.array(z.string()).nullable(),
  created_at: z.number(),
  expires_at: z.number(),
  successor_id: z.uuid().nullable(),
  last_used_at: z.number().nullable(),
})

/** A key that was not revoked. It can be expired. */
export type KeyRow = z.infer<typeof keyRow>

const columns = sql.fragment`
  k.id, k.membership_id, k.user_id, k.name, k.scopes, k.created_at, k.expires_at, k.successor_id, k.last_used_at`

const keysOf = ({ tenantId, membershipId }: Pick<KeyHolder, 'tenantId' | 'membershipId'>) =>
  sql.fragment`k.tenant_id = ${tenantId} and k.membership_id = ${membershipId} and k.revoked_at is null`

const ofUser = (tenantId: string, userId: string) => sql.fragment`
  k.tenant_id = ${tenantId} and k.revoked_at is null and k.user_id = ${userId}
  and k.membership_id = (select m.id from memberships m where m.tenant_id = ${tenantId} and m.user_id = ${userId})`

/** The keys of a holder, oldest first. */
export const keyList = defineList({
  id: { column: sql.fragment`k.id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`k.created_at`, field: 'created_at' } },
})

/** Names the keys to read: of a service account, or of a person. */
export type KeysWanted = { tenantId: string; accountId: string } | { tenantId: string; userId: string }

const wantedKeys = (of: KeysWanted) =>
  'userId' in of
    ? ofUser(of.tenantId, of.userId)
    : sql.fragment`${keysOf({ tenantId: of.tenantId, membershipId: of.accountId })} and k.user_id is null`

/** A page of the keys of a holder. */
export function listKeys(read: Read, of: KeysWanted, page: ListPage): Promise<readonly KeyRow[]> {
  return read.any(sql.type(keyRow)`
    select ${columns} from api_keys k where ${wantedKeys(of)} ${page.tail}`)
}

/** How many keys a holder has. */
export function countKeys(read: Read, of: KeysWanted, page: ListPage): Promise<number> {
  return read.oneFirst(sql.type(countRow)`
    select count(*) from api_keys k where ${wantedKeys(of)} ${page.conditions}`)
}

/** One key of a holder, or null. */
export function findKey(read: Read, of: KeysWanted, id: string): Promise<KeyRow | null> {
  return read.maybeOne(sql.type(keyRow)`
    select ${columns} from api_keys k where ${wantedKeys(of)} and k.id = ${id}`)
}

/** One key of the tenant: of a service account, or the person's own. Null for any other. */
export function findVisibleKey(
  read: Read,
  { tenantId, userId }: { tenantId: string; userId: string },
  id: string,
): Promise<KeyRow | null> {
  return read.maybeOne(sql.type(keyRow)`
    select ${columns} from api_keys k
    where k.tenant_id = ${tenantId} and k.id = ${id} and k.revoked_at is null
      and (k.user_id is null or k.user_id = ${userId})`)
}

/** A page of the keys that {@link findVisibleKey} finds. */
export function listVisibleKeys(
  read: Read,
  { tenantId, userId }: { tenantId: string; userId: string },
  page: ListPage,
): Promise<readonly KeyRow[]> {
  return read.any(sql.type(keyRow)`
    select ${columns} from api_keys k
    where k.tenant_id = ${tenantId} and k.revoked_at is null
      and (k.user_id is null or k.user_id = ${userId}) ${page.tail}`)
}

/** Locks a member until the transaction ends, so that the number of their keys stays exact; null for no member. */
export async function lockHolder(tx: Tx, tenantId: string, userId: string): Promise<KeyHolder | null> {
  const row = await tx.maybeOne(sql.type(idRow)`
    select id from memberships where tenant_id = ${tenantId} and user_id = ${userId} for no key update`)
  return row && { tenantId, membershipId: row.id, userId }
}

/** How many keys of a holder work and have no successor. */
export function countLiveKeys(tx: Tx, holder: KeyHolder, now: number): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from api_keys k
    where ${keysOf(holder)} and k.successor_id is null and k.expires_at > ${instant(now)}`)
}

interface NewKey extends KeyHolder {
  id: string
  name: string
  hash: Buffer
  scopes: readonly string[] | null
  createdBy: string
  /** ms since 1970 */
  at: number
  expiresAt: number
}

/** Inserts a key. */
export function insertKey(tx: Tx, key: NewKey): void {
  const { tenantId, id, membershipId, userId, name, hash, scopes, createdBy, at, expiresAt } = key
  tx.later(sql.unsafe`
    insert into api_keys (tenant_id, id, membership_id, user_id, account_id, name, key_hash, scopes, created_by,
                          created_at, expires_at)
    values (${tenantId}, ${id}, ${membershipId}, ${userId}, ${userId === null ? membershipId : null}, ${name},
            ${sql.binary(hash)}, ${scopes === null ? null : sql.array(scopes, 'text')}, ${createdBy}, ${instant(at)},
            ${instant(expiresAt)})`)
}

/**
 * Gives a live key its successor, and ends it at `endsAt` (ms since 1970) or earlier; false if it is no longer live, or
 * has a successor.
 */
export async function replaceKey(
  tx: Tx,
  { tenantId, id }: { tenantId: string; id: string },
  { successorId, at, endsAt }: { successorId: string; at: number; endsAt: number },
): Promise<boolean> {
  const replaced = await tx.maybeOne(sql.type(idRow)`
    update api_keys set successor_id = ${successorId}, expires_at = least(expires_at, ${instant(endsAt)})
    where tenant_id = ${tenantId} and id = ${id} and successor_id is null and revoked_at is null
      and expires_at > ${instant(at)}
    returning id`)
  return replaced !== null
}

/** Revokes a key; false if it was revoked before. */
export async function revokeKey(
  tx: Statements,
  { tenantId, id, at }: { tenantId: string; id: string; at: number },
): Promise<boolean> {
  const revoked = await tx.maybeOne(sql.type(idRow)`
    update api_keys set revoked_at = ${instant(at)}
    where tenant_id = ${tenantId} and id = ${id} and revoked_at is null returning id`)
  return revoked !== null
}

/** Revokes all keys of a person, in every tenant. As the system role. */
export function revokeKeysOf(tx: Tx, { userId, at }: { userId: string; at: number }): void {
  tx.later(sql.unsafe`
    update api_keys set revoked_at = ${instant(at)} where user_id = ${userId} and revoked_at is null`)
}

/** Revokes the keys that a person has in one tenant. */
export function revokeKeysOfMember(
  tx: Tx,
  { tenantId, userId, at }: { tenantId: string; userId: string; at: number },
): void {
  tx.later(sql.unsafe`
    update api_keys set revoked_at = ${instant(at)}
    where tenant_id = ${tenantId} and user_id = ${userId} and revoked_at is null`)
}

// What a request with a key reads and writes.

const foundRow = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  membership_id: z.uuid(),
  user_id: z.uuid().nullable(),
  created_by: z.uuid(),
  key_hash: z.instanceof(Buffer),
})

/** Whose key has this id, who made it, and its hash; whether it still works is read with each request. As the system role. */
export function findKeyById(read: Read, id: string): Promise<z.infer<typeof foundRow> | null> {
  return read.maybeOne(sql.type(foundRow)`
    select tenant_id, id, membership_id, user_id, created_by, key_hash from api_keys where id = ${id} limit 1`)
}

/** A use of a key, at a time in ms since 1970. */
export interface KeyUse {
  tenantId: string
  id: string
  at: number
}

/** Writes when keys were last used. Earlier times than the known ones change nothing. As the system role. */
export async function recordUses(tx: Tx, uses: readonly KeyUse[]): Promise<void> {
  const rows = uses.map(({ tenantId, id, at }) => [tenantId, id, new Date(at).toISOString()])
  await tx.query(sql.unsafe`
    update api_keys k set last_used_at = greatest(k.last_used_at, u.at)
    from ${sql.unnest(rows, ['uuid', 'uuid', 'timestamptz'])} as u (tenant_id, id, at)
    where k.tenant_id = u.tenant_id and k.id = u.id`)
}

const keyContextRow = authContextRow.extend({
  key_membership_id: z.uuid(),
  is_revoked: z.boolean(),
  is_expired: z.boolean(),
  scopes: z.array(z.string()).nullable(),
  last_used_at: z.number().nullable(),
})

export type KeyContextRow = z.infer<typeof keyContextRow>

/**
 * What a request needs to know about its key and the key's holder, in one round trip; null if one of them is deleted. A key is
 * no sign-in: its time of authentication is 1970, so that no policy takes it for a recent one. Sessions that were ended in
 * the tenant do not concern it. `now` is in ms since 1970.
 */
export function findKeyContextRow(
  read: Read,
  { userId, tenantId, subjectType, sessionId: id }: Bearer,
  now: number,
): Promise<KeyContextRow | null> {
  const key = sql.fragment`
    select 'aal1' as acr, '{key}'::text[] as amr, 'epoch'::timestamptz as auth_time,
           null::timestamptz as second_factor_at, null::timestamptz as begun_at, false as over, ${noConnection},
           membership_id, revoked_at is not null as is_revoked, expires_at <= ${instant(now)} as is_expired,
           scopes, last_used_at
    from api_keys where tenant_id = ${tenantId} and id = ${id}`
  const holder = subjectType === 'user' ? persons : accountsOf(tenantId)
  const more = sql.fragment`,
    s.membership_id as key_membership_id, s.is_revoked, s.is_expired, s.scopes, s.last_used_at`
  return readContext(read, keyContextRow, { userId, tenantId }, { ...holder, session: key, more })
}

const leakedRow = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  user_id: z.uuid().nullable(),
  account_id: z.uuid().nullable(),
  name: z.string(),
  key_hash: z.instanceof(Buffer),
  tenant_name: z.string(),
  holder_name: z.string(),
  holder_email: z.string(),
})

/** A live key with the names of its tenant and holder. */
export type LeakedKey = z.infer<typeof leakedRow>

/** The key with this id, if it works at `now` (ms since 1970), or null. As the system role. */
export function findLeakedKey(tx: Tx, id: string, now: number): Promise<LeakedKey | null> {
  return tx.maybeOne(sql.type(leakedRow)`
    select k.tenant_id, k.id, k.user_id, k.account_id, k.name, k.key_hash, t.name as tenant_name,
           coalesce(u.first_name, m.first_name, '') as holder_name, coalesce(u.email, '') as holder_email
    from api_keys k
    join tenants t on t.id = k.tenant_id
    left join memberships m on m.tenant_id = k.tenant_id and m.id = k.account_id
    left join users u on u.id = k.user_id
    where k.id = ${id} and k.revoked_at is null and k.expires_at > ${instant(now)} limit 1`)
}

const maxTold = 50

/** The ids of the tenant's active owners and of the key's person, 50 at most. As the system role. */
export function listToldOfLeak(tx: Tx, { tenant_id, user_id }: LeakedKey): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(idRow)`
    select u.id from users u where u.id = ${user_id}::uuid and u.is_active
    union
    (select m.user_id from roles r
     join membership_roles mr on mr.tenant_id = r.tenant_id and mr.role_id = r.id
     join memberships m on m.tenant_id = mr.tenant_id and m.id = mr.membership_id and m.status = 'active'
       and m.is_active
     where r.tenant_id = ${tenant_id} and r.is_system and r.name = 'owner'
     order by m.joined_at, m.id limit ${maxTold})`)
}
