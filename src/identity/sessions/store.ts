import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { defineList, type ListPage } from '../../platform/db/list.ts'
import type { Read } from '../../platform/db/read.ts'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import { systemRoles } from '../../policy-engine/catalogue/actions.ts'
import { endPendingSessions } from './pending-store.ts'

const acr = z.enum(['aal1', 'aal2'])

export interface NewSession {
  id: string
  userId: string
  tenantId: string
  acr: 'aal1' | 'aal2'
  amr: readonly string[]
  /** ms since 1970, as all times: when the password was right, and the second factor, if one was shown. */
  authTime: number
  secondFactorAt: number | null
  at: number
  expiresAt: number
  userAgent: string
  ip: string
}

/** Inserts a session; as the system role. */
export async function insertSession(tx: Tx, session: NewSession): Promise<void> {
  const at = sql.timestamp(new Date(session.at))
  await tx.query(sql.unsafe`
    insert into sessions (id, user_id, tenant_id, acr, amr, auth_time, second_factor_at, user_agent, ip, created_at, last_used_at, expires_at)
    values (${session.id}, ${session.userId}, ${session.tenantId}, ${session.acr}, ${sql.array(session.amr, 'text')},
            ${sql.timestamp(new Date(session.authTime))},
            ${session.secondFactorAt === null ? null : sql.timestamp(new Date(session.secondFactorAt))}, ${session.userAgent}, ${session.ip}, ${at}, ${at}, ${sql.timestamp(new Date(session.expiresAt))})`)
}

const authContextRow = z.object({
  user_id: z.uuid(),
  email: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  email_verified: z.boolean(),
  is_active: z.boolean(),
  mfa_enabled: z.boolean(),
  date_joined: z.number(),
  user_version: z.number(),
  acr,
  amr: z.array(z.string()),
  auth_time: z.number(),
  second_factor_at: z.number().nullable(),
  over: z.boolean(),
  over_here: z.boolean(),
  tenant_id: z.uuid().nullable(),
  tenant_status: z.enum(['active', 'suspended', 'archived']).nullable(),
  require_mfa: z.boolean().nullable(),
  time_zone: z.string().nullable(),
  policy_revision: z.number().nullable(),
  membership_id: z.uuid().nullable(),
  membership_status: z.enum(['active', 'suspended']).nullable(),
  department_id: z.uuid().nullable(),
  joined_at: z.number().nullable(),
  attributes: z.record(z.string(), z.unknown()).nullable(),
  roles: z.array(z.string()),
  role_ids: z.array(z.uuid()),
  system_roles: z.array(z.enum(systemRoles)),
  permissions: z.array(z.string()),
})

export type AuthContextRow = z.infer<typeof authContextRow>

interface BearerKey {
  userId: string
  sessionId: string
  tenantId: string
  now: number
}

/** Everything a request needs to know of its bearer, in one query: session, person, tenant, membership, roles. */
export function findAuthContext(tx: Read, bearer: BearerKey): Promise<AuthContextRow | null> {
  const session = sql.fragment`
    select acr, amr, auth_time, second_factor_at, created_at as begun_at,
           ended_at is not null or expires_at <= ${sql.timestamp(new Date(bearer.now))} as over
    from sessions where id = ${bearer.sessionId} and user_id = ${bearer.userId}`
  return standingWith(tx, bearer, session)
}

/**
 * The same for the bearer of a temporary token. A tenant counts as active here: whether its state admits the person
 * is judged when the sign-in completes, for owners may enter one that is closed.
 */
export async function findPendingAuthContext(tx: Read, bearer: BearerKey): Promise<AuthContextRow | null> {
  const now = sql.timestamp(new Date(bearer.now))
  const session = sql.fragment`
    select 'aal1' as acr, '{pwd}'::text[] as amr, p.auth_time, null::timestamptz as second_factor_at, s.created_at as begun_at,
           p.ended_at is not null or p.expires_at <= ${now} or s.ended_at is not null or (s.expires_at <= ${now}) is true as over
    from pending_sessions p left join sessions s on s.id = p.session_id
    where p.id = ${bearer.sessionId} and p.user_id = ${bearer.userId}`
  const row = await standingWith(tx, bearer, session)
  return row && { ...row, tenant_status: row.tenant_status && 'active' }
}

function standingWith(
  tx: Read,
  bearer: BearerKey,
  session: FragmentSqlToken,
): Promise<AuthContextRow | null> {
  return tx.maybeOne(sql.type(authContextRow)`
    select u.id as user_id, u.email, u.first_name, u.last_name, u.email_verified_at is not null as email_verified,
           u.is_active, u.date_joined, u.version as user_version,
           exists (select 1 from otp_devices d
                   where d.user_id = u.id and d.type = 'totp' and d.confirmed_at is not null) as mfa_enabled,
           s.acr, s.amr, s.auth_time, s.second_factor_at, s.over,
           (m.sessions_ended_at >= s.begun_at) is true as over_here,
           t.id as tenant_id, t.status as tenant_status, (t.settings ->> 'require_mfa')::boolean as require_mfa,
           t.settings ->> 'time_zone' as time_zone,
           t.policy_revision, m.id as membership_id, m.status as membership_status, m.department_id, m.joined_at,
           m.attributes,
           r.roles, r.role_ids, r.system_roles, r.permissions
    from (${session}) s
    join users u on u.id = ${bearer.userId}
    left join tenants t on t.id = ${bearer.tenantId} and t.deleted_at is null
    left join memberships m on m.tenant_id = t.id and m.user_id = u.id
    cross join lateral (
      select coalesce(array_agg(r.name order by r.created_at, r.id), '{}') as roles,
             coalesce(array_agg(r.id order by r.created_at, r.id), '{}') as role_ids,
             coalesce(array_agg(r.name) filter (where r.is_system), '{}') as system_roles,
             coalesce((select array_agg(distinct p) from membership_roles x
                       join roles y on y.tenant_id = x.tenant_id and y.id = x.role_id
                       cross join lateral unnest(y.permissions) p
                       where x.tenant_id = m.tenant_id and x.membership_id = m.id), '{}') as permissions
      from membership_roles mr join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
      where mr.tenant_id = m.tenant_id and mr.membership_id = m.id) r`)
}

/** Why all of a person's sessions end. */
export type EndReason = 'logout' | 'password' | 'deactivated' | 'undone' | 'rejected'

/** Ends a session, once, and with it all its refresh families, which are judged by its row; true when it was alive. */
export async function endSession(
  tx: Tx,
  session: { id: string; userId: string; reason: 'logout' | 'revoked' | 'replay' | 'password'; at: number },
): Promise<boolean> {
  const at = sql.timestamp(new Date(session.at))
  const ended = await tx.maybeOne(sql.type(z.object({ id: z.uuid() }))`
    update sessions set ended_at = ${at}, end_reason = ${session.reason}
    where id = ${session.id} and user_id = ${session.userId} and ended_at is null returning id`)
  return ended !== null
}

/**
 * Ends every live session of a person but `exceptId`, and every sign-in that waits for a second factor; gives the ids
 * of the sessions ended; as the system role.
 */
export async function endSessionsOf(
  tx: Tx,
  sessions: { userId: string; exceptId: string | null; reason: EndReason; at: number },
): Promise<readonly string[]> {
  const at = sql.timestamp(new Date(sessions.at))
  const ended = await tx.anyFirst(sql.type(z.object({ id: z.uuid() }))`
    update sessions set ended_at = ${at}, end_reason = ${sessions.reason}
    where user_id = ${sessions.userId} and ended_at is null and id is distinct from ${sessions.exceptId}::uuid returning id`)
  await endPendingSessions(tx, sessions)
  return ended
}

/** Ends what sessions a person has beyond the newest `most`; gives their ids; as the system role. */
export function endOldestSessions(
  tx: Tx,
  sessions: { userId: string; most: number; at: number },
): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(z.object({ id: z.uuid() }))`
    update sessions set ended_at = ${sql.timestamp(new Date(sessions.at))}, end_reason = 'revoked'
    where ended_at is null and id = any(array(
      select id from sessions where user_id = ${sessions.userId} and ended_at is null
      order by created_at desc, id desc offset ${sessions.most}))
    returning id`)
}

const listedRow = z.object({
  id: z.uuid(),
  tenant_id: z.uuid(),
  user_agent: z.string(),
  ip: z.string(),
  acr,
  amr: z.array(z.string()),
  created_at: z.number(),
  last_used_at: z.number(),
  expires_at: z.number(),
})

export type ListedSession = z.infer<typeof listedRow>

/** How sessions are listed: oldest first. */
export const sessionList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`created_at`, field: 'created_at' } },
})

const alive = (userId: string, now: number) =>
  sql.fragment`user_id = ${userId} and ended_at is null and expires_at > ${sql.timestamp(new Date(now))}`

/** A page of a person's sessions that are not over. */
export function listSessionsOf(
  tx: Tx,
  userId: string,
  now: number,
  page: ListPage,
): Promise<readonly ListedSession[]> {
  return tx.any(sql.type(listedRow)`
    select id, tenant_id, user_agent, ip, acr, amr, created_at, last_used_at, expires_at from sessions
    where ${alive(userId, now)} ${page.tail}`)
}

/** One of a person's sessions that is not over, or null. */
export function findSessionOf(
  tx: Tx,
  userId: string,
  now: number,
  id: string,
): Promise<ListedSession | null> {
  return tx.maybeOne(sql.type(listedRow)`
    select id, tenant_id, user_agent, ip, acr, amr, created_at, last_used_at, expires_at from sessions
    where ${alive(userId, now)} and id = ${id}`)
}

/** How many of them the filters leave: a handful, so that they are counted. */
export function countSessionsOf(tx: Tx, userId: string, now: number, page: ListPage): Promise<number> {
  return tx.oneFirst(sql.type(z.object({ count: z.number() }))`
    select count(*) as count from sessions where ${alive(userId, now)} ${page.conditions}`)
}
