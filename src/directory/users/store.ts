import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { uniqueness } from '../scim-error.ts'
import type { ListedBy } from '../scim-schemas.ts'
import { branchesOf } from './filter-store.ts'

const userRow = z.object({
  id: z.uuid(),
  user_id: z.uuid().nullable(),
  email: z.string().nullable(),
  email_verified: z.boolean().nullable(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  status: z.enum(['active', 'suspended']).nullable(),
  is_active: z.boolean().nullable(),
  suspended_by_directory: z.boolean().nullable(),
  external_id: z.string().nullable(),
  sent_external_id: z.string().nullable(),
  user_name: z.string().nullable(),
  active: z.boolean().nullable(),
  is_pending: z.boolean().nullable(),
  made_user_id: z.uuid().nullable(),
  document: z.record(z.string(), z.unknown()).nullable(),
  groups: z.array(z.object({ id: z.uuid(), name: z.string() })),
  created_at: z.number(),
  updated_at: z.number(),
  version: z.number(),
})

/**
 * A User: a membership, with `user_id`, or what waits for one, and what a directory said of it, with `user_name`. `external_id` counts,
 * `sent_external_id` is what a directory sent. Times are in
 * ms since 1970.
 */
export type UserRow = z.infer<typeof userRow>

/** The columns of memberships `m` and directory_users `d`. */
const columns = (tenantId: string) => sql.fragment`
  coalesce(m.id, d.id) as id, m.user_id, m.email, m.email_verified, m.first_name, m.last_name, m.status, m.is_active,
  m.suspended_by_directory, case when m.id is null then d.external_id else m.external_id end as external_id,
  d.external_id as sent_external_id,
  d.user_name, d.active, d.is_pending, d.made_user_id, d.document,
  coalesce((select jsonb_agg(jsonb_build_object('id', g.id, 'name', g.display_name) order by g.id)
            from directory_group_members gm join directory_groups g on g.tenant_id = ${tenantId} and g.id = gm.group_id
            where gm.tenant_id = ${tenantId} and gm.member_id = x.id), '[]') as groups,
  coalesce(d.created_at, m.joined_at) as created_at, greatest(m.updated_at, d.updated_at) as updated_at,
  coalesce(m.version + m.person_version, 0) + coalesce(d.version, 0) as version`

const joined = (tenantId: string) => sql.fragment`
  left join memberships m on m.tenant_id = ${tenantId} and m.id = x.id and m.kind = 'user'
  left join directory_users d on d.tenant_id = ${tenantId} and d.id = x.id`

/** One User of the tenant, or null. */
export function findUser(read: Read, tenantId: string, id: string): Promise<UserRow | null> {
  return read.maybeOne(sql.type(userRow)`
    select ${columns(tenantId)} from (select ${id}::uuid as id) x ${joined(tenantId)} where m.id is not null or d.id is not null`)
}

/** Locks a User, the membership included, until the transaction ends. */
export function lockUser(tx: Tx, tenantId: string, id: string): void {
  tx.later(sql.unsafe`
    select 1 from memberships where tenant_id = ${tenantId} and id = ${id} for no key update`)
  tx.later(sql.unsafe`
    select 1 from directory_users where tenant_id = ${tenantId} and id = ${id} for no key update`)
}

/** A page of the Users that match, in order. */
export function listUsers(read: Read, tenantId: string, query: ListedBy): Promise<readonly UserRow[]> {
  const { page } = branchesOf(tenantId, query)
  return read.any(
    sql.type(userRow)`select ${columns(tenantId)} from (${page}) x ${joined(tenantId)} order by x.position`,
  )
}

/** How many Users match. */
export function countUsers(read: Read, tenantId: string, query: ListedBy): Promise<number> {
  const { counted } = branchesOf(tenantId, query)
  return read.oneFirst(sql.type(countRow)`select ${counted} as count`)
}

export interface TakenBy {
  tenantId: string
  /** The User that may have them. */
  id: string
  userName: string | null
  email: string | null
  externalId: string | null
}

const takenRow = z.object({ id: z.uuid().nullable(), what: z.string() })

/**
 * Another User that has the name, the address or the `externalId`, and which of these; null for none. Its `id` is null if it is a member who
 * has not proven the address. The tenant is locked.
 */
export function findTaken(
  tx: Tx,
  { tenantId, id, userName, email, externalId }: TakenBy,
): Promise<z.infer<typeof takenRow> | null> {
  const name = userName?.toLowerCase() ?? null
  const others = sql.fragment`d.tenant_id = ${tenantId} and d.id <> ${id}`
  const members = sql.fragment`m.tenant_id = ${tenantId} and m.id <> ${id} and m.kind = 'user'`
  return tx.maybeOne(sql.type(takenRow)`
    select * from (
      (select d.id, 'userName' as what from directory_users d where ${others} and d.user_name_key = ${name} limit 1)
      union all
      (select case when m.email_verified then m.id end, 'userName' from memberships m where ${members} and m.email = ${name}
         and not exists (select 1 from directory_users d where d.tenant_id = ${tenantId} and d.id = m.id) limit 1)
      union all
      (select d.id, 'address' from directory_users d where ${others} and d.email = ${email} limit 1)
      union all
      (select case when m.email_verified then m.id end, 'address' from memberships m where ${members} and m.email = ${email} limit 1)
      union all
      (select d.id, 'externalId' from directory_users d where ${others} and d.external_id = ${externalId} limit 1)
      union all
      (select m.id, 'externalId' from memberships m where ${members} and m.external_id = ${externalId} limit 1)
    ) taken limit 1`)
}

export interface StoredUser {
  tenantId: string
  id: string
  userName: string
  displayName: string
  email: string | null
  /** What a directory sent. A membership has its own, which a person can give, too. */
  externalId: string | null
  active: boolean
  isPending: boolean
  madeUserId: string | null
  document: Record<string, unknown>
  /** ms since 1970 */
  at: number
}

/** Inserts or replaces what a directory said of a User. The transaction can fail with 409 `uniqueness`. */
export function storeUser(tx: Tx, user: StoredUser): void {
  const { tenantId, id, userName, displayName, email, externalId, active, isPending, madeUserId } = user
  const at = instant(user.at)
  tx.later(
    sql.unsafe`
      insert into directory_users (tenant_id, id, user_name, display_name, email, external_id, active, is_pending,
                                   made_user_id, document, created_at, updated_at)
      values (${tenantId}, ${id}, ${userName}, ${displayName}, ${email}, ${externalId}, ${active}, ${isPending},
              ${madeUserId}, ${sql.jsonb(user.document as never)}, ${at}, ${at})
      on conflict (tenant_id, id) do update set user_name = excluded.user_name, display_name = excluded.display_name,
        email = excluded.email, external_id = excluded.external_id, active = excluded.active,
        is_pending = excluded.is_pending, made_user_id = excluded.made_user_id, document = excluded.document,
        updated_at = excluded.updated_at, version = directory_users.version + 1`,
    () => uniqueness('Another User has this userName or externalId.'),
  )
}

/** Whether as many Users as this, or more, wait for a membership. */
export async function hasPending(read: Read, tenantId: string, count: number): Promise<boolean> {
  const last = await read.maybeOne(sql.type(idRow)`
    select d.id from directory_users d where d.tenant_id = ${tenantId} and d.is_pending
      and not exists (select 1 from memberships m where m.tenant_id = ${tenantId} and m.id = d.id)
    order by d.id limit 1 offset ${count - 1}`)
  return last !== null
}

/** Deletes a User that waits for a membership, also from its groups. */
export function deletePendingUser(tx: Tx, tenantId: string, id: string): void {
  tx.later(
    sql.unsafe`delete from directory_group_members where tenant_id = ${tenantId} and member_id = ${id}`,
  )
  tx.later(sql.unsafe`delete from directory_users where tenant_id = ${tenantId} and id = ${id}`)
}

/** Whether a member of the tenant has an address. As the system role. */
export async function isOfMember(read: Read, tenantId: string, email: string): Promise<boolean> {
  const found = await read.maybeOne(sql.type(idRow)`
    select id from memberships where tenant_id = ${tenantId} and email = ${email}`)
  return found !== null
}
