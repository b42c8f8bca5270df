import { z } from 'zod'
import { uniqueViolation } from '../../database/executor/database-errors.ts'
import type { Read } from '../../database/executor/read.ts'
import { idRow } from '../../database/executor/row-schemas.ts'
import { sql, sqlState, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { lock, willChange } from '../../database/locks.ts'
import { isProven } from '../../database/proven-address.ts'
import { type Versions, versionAmong } from '../../database/version.ts'
import { ApiError, invalidField } from '../../errors.ts'
import type { ListPage } from '../../lists/list.ts'
import { unreachableEmail } from '../../messages/mail/email-address.ts'
import { pageOfMembers } from '../../tenancy/members/list-store.ts'
import { isPersonNamed } from '../../tenancy/members/subject-store.ts'
import { makeEmailDevice } from '../otp/store.ts'

const userRow = z.object({
  id: z.uuid(),
  email: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  is_active: z.boolean(),
  email_verified_at: z.number().nullable(),
  date_joined: z.number(),
  updated_at: z.number(),
  version: z.number(),
})

export type UserRow = z.infer<typeof userRow>

const columns = sql.fragment`
  u.id, u.email, u.first_name, u.last_name, u.is_active, u.email_verified_at, u.date_joined, u.updated_at, u.version`

interface NewUser {
  id: string
  email: string
  passwordHash: string
  firstName: string
  lastName: string
  /** The address counts as proven. */
  isProven?: boolean
  at: number
}

/** Inserts a person; false if the address has an account. The transaction's scope must be the new person. */
export async function insertUser(tx: Tx, user: NewUser): Promise<boolean> {
  const at = instant(user.at)
  willChange(tx, user.email)
  const inserted = await tx.maybeOne(sql.type(idRow)`
    insert into users (id, email, password_hash, first_name, last_name, date_joined, updated_at, email_verified_at)
    values (${user.id}, ${user.email}, ${user.passwordHash}, ${user.firstName}, ${user.lastName}, ${at}, ${at},
            ${instant(user.isProven ? user.at : null)})
    on conflict do nothing returning id`)
  if (inserted && user.isProven) makeEmailDevice(tx, user.id, user.at)
  return inserted !== null
}

/**
 * Inserts people none of whose addresses has an account, verified ones with their mailbox as a second factor. A person is
 * inserted only in their own scope, so the transaction's scope is the last of them afterwards; `also` runs in that of each.
 */
export function insertUsers<T extends NewUser & { isVerified: boolean }>(
  tx: Tx,
  users: readonly T[],
  also: (user: T) => void = () => undefined,
): void {
  for (const user of users) {
    const at = instant(user.at)
    tx.addScope('user', user.id)
    tx.later(sql.unsafe`
      insert into users (id, email, password_hash, first_name, last_name, date_joined, updated_at, email_verified_at)
      values (${user.id}, ${user.email}, ${user.passwordHash}, ${user.firstName}, ${user.lastName}, ${at}, ${at},
              ${user.isVerified ? at : null})`)
    if (user.isVerified) makeEmailDevice(tx, user.id, user.at)
    also(user)
  }
}

const credentialsRow = z.object({
  id: z.uuid(),
  email: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  password_hash: z.string(),
  is_active: z.boolean(),
  email_verified: z.boolean(),
  has_signed_in: z.boolean(),
})

/** A person with the hash of their password. */
export type Credentials = z.infer<typeof credentialsRow>

/** The credentials of an address, or null. As the system role. */
export function findCredentials(tx: Read, email: string): Promise<Credentials | null> {
  return tx.maybeOne(sql.type(credentialsRow)`
    select u.id, u.email, u.first_name, u.last_name, u.password_hash, u.is_active, ${isProven} as email_verified,
           exists (select 1 from sign_in_places p where p.user_id = u.id) as has_signed_in
    from users u where u.email = ${email}`)
}

/**
 * Whether the person is active and still has the hash that a password was compared with; if so, locks it against
 * replacement until the transaction ends. As the system role.
 */
export async function lockPassword(tx: Tx, user: { id: string; passwordHash: string }): Promise<boolean> {
  const held = await tx.maybeOne(sql.type(idRow)`
    select id from users where id = ${user.id} and password_hash = ${user.passwordHash} and is_active
    ${lock(tx, user.id, 'share')}`)
  return held !== null
}

/**
 * Whether the person is active and has this address; if so, both stay until the transaction ends. As the system role.
 */
export async function lockActive(tx: Tx, person: { id: string; email: string }): Promise<boolean> {
  const held = await tx.maybeOne(sql.type(idRow)`
    select id from users where id = ${person.id} and email = ${person.email} and is_active
    ${lock(tx, person.id, 'share')}`)
  return held !== null
}

const lockedRow = z.object({ first_name: z.string(), email: z.string() })

/**
 * Locks a person until the transaction ends, against changes and new references: no session of theirs can begin. Null if
 * there is no such person. As the system role.
 */
export function lockUser(tx: Tx, userId: string): Promise<z.infer<typeof lockedRow> | null> {
  return tx.maybeOne(sql.type(lockedRow)`
    select first_name, email from users where id = ${userId} ${lock(tx, userId, 'update')}`)
}

/**
 * Replaces the hash `from` by `to`; false if the person has another hash by now. `setAt`: when the person chose the new
 * password, in ms since 1970; null if it is the same one. As the system role.
 */
export async function replacePassword(
  tx: Tx,
  user: { id: string; from: string; to: string; setAt: number | null },
): Promise<boolean> {
  const setAt = instant(user.setAt)
  willChange(tx, user.id)
  const replaced = await tx.maybeOne(sql.type(idRow)`
    update users set password_hash = ${user.to}, password_set_at = coalesce(${setAt}, password_set_at)
    where id = ${user.id} and password_hash = ${user.from} returning id`)
  return replaced !== null
}

/** The person who has an address, or null. As the system role. */
export function findUserByEmail(tx: Tx, email: string): Promise<UserRow | null> {
  return tx.maybeOne(sql.type(userRow)`select ${columns} from users u where u.email = ${email}`)
}

/** A person by id or address, or null. As the system role. */
export const findPersonBy = (tx: Tx, person: { id: string } | { email: string }): Promise<UserRow | null> =>
  'id' in person ? findUser(tx, person.id) : findUserByEmail(tx, person.email)

/**
 * Up to `limit` people whose address or a name starts with `search`, in any letter case, by address. As the system role.
 */
export const listPeopleNamed = (tx: Tx, search: string, limit: number): Promise<readonly UserRow[]> =>
  tx.any(sql.type(userRow)`
    select ${columns} from users u
    where starts_with(u.email, lower(${search})) or starts_with(lower(u.first_name), lower(${search}))
       or starts_with(lower(u.last_name), lower(${search}))
    order by u.email limit ${limit}`)

/** Activates or deactivates a person; false if nothing changes. As the system role. */
export async function setActive(tx: Tx, user: { id: string; active: boolean; at: number }): Promise<boolean> {
  willChange(tx, user.id)
  const set = await tx.maybeOne(sql.type(idRow)`
    update users set is_active = ${user.active}, version = version + 1, updated_at = ${instant(user.at)}
    where id = ${user.id} and is_active <> ${user.active} returning id`)
  return set !== null
}

const profileRow = userRow.extend({ locale: z.string().nullable(), zoneinfo: z.string().nullable() })

/** A person with their language (BCP 47) and their time zone (IANA); null is not known. */
export type ProfileRow = z.infer<typeof profileRow>

/** {@link findUser} with what only a profile shows. */
export const findProfile = (read: Read, userId: string): Promise<ProfileRow | null> =>
  read.maybeOne(
    sql.type(profileRow)`select ${columns}, u.locale, u.zoneinfo from users u where u.id = ${userId}`,
  )

/** A person by id, or null. As the system role, or in the scope of the person. */
export function findUser(tx: Read, userId: string): Promise<UserRow | null> {
  return tx.maybeOne(sql.type(userRow)`select ${columns} from users u where u.id = ${userId}`)
}

const memberUserRow = userRow.omit({ email_verified_at: true, updated_at: true }).extend({
  email_verified: z.boolean(),
  membership_id: z.uuid(),
  joined_at: z.number(),
  department_id: z.uuid().nullable(),
  roles: z.array(z.string()),
})

export type MemberUserRow = z.infer<typeof memberUserRow>

const memberColumns = (tenantId: string) => sql.fragment`
  m.user_id as id, m.email, m.first_name, m.last_name, m.is_active, m.email_verified, m.date_joined,
  m.person_version as version, m.id as membership_id, m.joined_at, m.department_id,
  array(select r.name from membership_roles mr join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
        where mr.tenant_id = ${tenantId} and mr.membership_id = m.id order by r.created_at, r.id) as roles`

/** A page of the people of a tenant. */
export function listUsersOf(read: Read, tenantId: string, page: ListPage): Promise<readonly MemberUserRow[]> {
  return read.any(
    sql.type(memberUserRow)`${pageOfMembers(memberColumns(tenantId), tenantId, page, 'people')}`,
  )
}

/** One person of a tenant, or null. */
export function findUserOf(tx: Read, tenantId: string, userId: string): Promise<MemberUserRow | null> {
  return tx.maybeOne(sql.type(memberUserRow)`
    select ${memberColumns(tenantId)} from memberships m
    where m.tenant_id = ${tenantId} and m.user_id = ${userId}`)
}

/** The person of a tenant with this name: id, verified address or `external_id`. Null also for a name that fits two. */
export async function findUserNamed(tx: Read, tenantId: string, name: string): Promise<MemberUserRow | null> {
  const [user = null, another] = await tx.any(sql.type(memberUserRow)`
    select ${memberColumns(tenantId)} from memberships m
    where m.tenant_id = ${tenantId} and ${isPersonNamed([name])} limit 2`)
  return another ? null : user
}

const emailTaken = () =>
  invalidField('email', 'This address has an account already. Choose another.', 'taken')

/** Whether an error says that the address already has an account. */
export const isEmailTaken = (error: unknown): boolean =>
  error instanceof ApiError && error.errors.some(({ field, code }) => field === 'email' && code === 'taken')

interface ProfileValues {
  id: string
  /** Null keeps the current value. */
  email: string | null
  firstName: string | null
  lastName: string | null
  /** A missing one keeps its value. */
  preferences: { locale?: string | null | undefined; zoneinfo?: string | null | undefined }
  at: number
}

const updatedRow = profileRow.extend({
  previous_email: z.string(),
  previous_verified_at: z.number().nullable(),
  previous_locale: z.string().nullable(),
  previous_zoneinfo: z.string().nullable(),
})

const kept = (column: 'locale' | 'zoneinfo', value: string | null | undefined) =>
  value === undefined ? sql.identifier([column]) : sql.fragment`${value}::text`

/**
 * Changes names, preferences and address, if they differ and the row has one of `versions`; a new address is unverified. Returns the
 * changed row, or null. Throws 400 on `email` if another account has the address. As the system role.
 */
export async function updatePerson(
  tx: Tx,
  { id, email, firstName, lastName, preferences: { locale, zoneinfo }, at }: ProfileValues,
  versions: Versions,
): Promise<z.infer<typeof updatedRow> | null> {
  try {
    return await tx.maybeOne(sql.type(updatedRow)`
      with wanted as (
        select id, email as previous_email, email_verified_at as previous_verified_at, coalesce(${email}, email) as email,
               coalesce(${firstName}, first_name) as first_name, coalesce(${lastName}, last_name) as last_name,
               locale as previous_locale, ${kept('locale', locale)} as locale,
               zoneinfo as previous_zoneinfo, ${kept('zoneinfo', zoneinfo)} as zoneinfo
        from users where id = ${id} ${lock(tx, id, 'update')})
      update users u set first_name = w.first_name, last_name = w.last_name, email = w.email,
        locale = w.locale, zoneinfo = w.zoneinfo,
        email_verified_at = case when u.email = w.email then u.email_verified_at end,
        version = u.version + 1, updated_at = ${instant(at)}
      from wanted w
      where u.id = w.id and (u.first_name, u.last_name, u.email, u.locale, u.zoneinfo)
        is distinct from (w.first_name, w.last_name, w.email, w.locale, w.zoneinfo)
        and ${versionAmong(sql.fragment`u.version`, versions)}
      returning ${columns}, u.locale, u.zoneinfo, w.previous_email, w.previous_verified_at, w.previous_locale,
        w.previous_zoneinfo`)
  } catch (error) {
    throw sqlState(error) === uniqueViolation ? emailTaken() : error
  }
}

/** Whether a person's row has one of these versions. As the system role. */
export function isUserAmong(tx: Tx, userId: string, versions: Versions): Promise<boolean> {
  return tx.exists(sql.unsafe`
    select 1 from users u where u.id = ${userId} and ${versionAmong(sql.fragment`u.version`, versions)}`)
}

/** Deletes a person with their memberships, sessions, factors, links and sign-in places. As the system role. */
export async function deletePerson(tx: Tx, id: string): Promise<void> {
  willChange(tx, id)
  tx.later(sql.unsafe`delete from users where id = ${id}`)
}

/** What the workers scrub after an erasure; `at` in ms since 1970. */
interface NewErasure {
  userId: string
  /** The addresses that the person proved. */
  emails: readonly string[]
  tenantIds: readonly string[]
  targetIds: readonly string[]
  at: number
}

/**
 * Tells the workers to scrub the person from rows that other tenants keep. A worker of the release before scrubs one
 * address only, and without one it needs an address that occurs nowhere. As the system role.
 */
export async function insertErasure(tx: Tx, erasure: NewErasure): Promise<void> {
  tx.later(sql.unsafe`
    insert into erasures (user_id, email, emails, tenant_ids, target_ids, at)
    values (${erasure.userId}, ${erasure.emails[0] ?? unreachableEmail()}, ${sql.array(erasure.emails, 'text')}, ${sql.array(erasure.tenantIds, 'uuid')},
            ${sql.array(erasure.targetIds, 'uuid')}, ${instant(erasure.at)})`)
}

/** Records that all sessions of a person were ended: calls that they stored until then are void. As the system role. */
export function recordSessionsEnded(tx: Tx, userId: string, at: number): void {
  willChange(tx, userId)
  tx.later(sql.unsafe`update users set sessions_ended_at = ${instant(at)} where id = ${userId}`)
}

/**
 * Notes that a personal tenant is made for a person at `at`; false if one was made since `since` (ms since 1970), unless a
 * link from a mail opened the account meanwhile.
 */
export async function claimOwnTenant(
  tx: Tx,
  { userId, tenantId, since, at }: { userId: string; tenantId: string; since: number; at: number },
): Promise<boolean> {
  const claimed = await tx.maybeOne(sql.type(idRow)`
    update users set own_tenant_made_at = ${instant(at)}, own_tenant_id = ${tenantId}
    where id = ${userId}
      and (own_tenant_made_at is null or own_tenant_made_at <= ${instant(since)})
    returning id`)
  return claimed !== null
}

const ownTenantRow = z.object({ own_tenant_id: z.uuid().nullable() })

/** The personal tenant that {@link claimOwnTenant} noted last, which the person can have lost since; or null. As the system role. */
export function findOwnTenant(tx: Tx, userId: string): Promise<string | null> {
  return tx.maybeOneFirst(sql.type(ownTenantRow)`select own_tenant_id from users where id = ${userId}`)
}

const countsRow = z.object({ passkeys: z.number(), keys: z.number() })

/** What opens an account besides its password and mailbox: passkeys, and API keys of the person that work. */
export type WaysIn = z.infer<typeof countsRow>

/** Counts them at `at` (ms since 1970), for the mail after a change. As the system role. */
export const countWaysIn = (tx: Tx, userId: string, at: number): Promise<WaysIn> =>
  tx.one(sql.type(countsRow)`
    select (select count(*) from passkeys where user_id = ${userId}) as passkeys,
           (select count(*) from api_keys where user_id = ${userId} and revoked_at is null
              and expires_at > ${instant(at)}) as keys`)
