import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import type { Statements } from '../../database/executor/statements.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { lock } from '../../database/locks.ts'
import { sessionRevoked } from '../../errors.ts'
import { defineList, type ListPage } from '../../lists/list.ts'
import { type EndedSession, endingSessions } from '../../messages/logouts/store.ts'
import type { Caller, Connection } from '../../request/caller.ts'
import { endPendingSessions, endPendingSessionsBy } from '../sign-in/pending-store.ts'
import { recordSessionsEnded } from '../users/store.ts'

/** Authentication context class references: one factor, or two (NIST SP 800-63B). */
export const acr = z.enum(['aal1', 'aal2'])
interface NewSession {
  id: string
  userId: string
  tenantId: string
  acr: 'aal1' | 'aal2'
  amr: readonly string[]
  /** When the person showed the first factor; all times are in ms since 1970. */
  authTime: number
  /** When the person showed a second factor; null if they did not. */
  secondFactorAt: number | null
  at: number
  expiresAt: number
  userAgent: string
  ip: string
  /** By which it begins; null: by another way. */
  connection: Connection | null
}

/** Inserts a session. As the system role. */
export async function insertSession(tx: Tx, session: NewSession): Promise<void> {
  const at = instant(session.at)
  tx.later(sql.unsafe`
    insert into sessions (id, user_id, tenant_id, acr, amr, auth_time, second_factor_at, user_agent, ip, created_at, last_used_at, expires_at,
                          connection_id, confined_to)
    values (${session.id}, ${session.userId}, ${session.tenantId}, ${session.acr}, ${sql.array(session.amr, 'text')},
            ${instant(session.authTime)},
            ${instant(session.secondFactorAt)}, ${session.userAgent}, ${session.ip}, ${at}, ${at}, ${instant(session.expiresAt)},
            ${session.connection?.id ?? null}, ${session.connection?.tenantId ?? null})`)
}

/**
 * A session of an application that acts while the person is away, with what the browser's session had shown. It ends by
 * itself when it is unused until `until` (ms since 1970). As the system role.
 */
export function insertGrantSession(tx: Tx, { id, from, tenantId, name, at, until }: GrantSession): void {
  tx.later(sql.unsafe`
    insert into sessions (id, kind, user_id, tenant_id, acr, amr, auth_time, second_factor_at, user_agent, ip, created_at,
                          last_used_at, expires_at, connection_id, confined_to)
    select ${id}, 'grant', user_id, ${tenantId}, acr, amr, auth_time, second_factor_at, ${name}, ip, ${instant(at)},
           ${instant(at)}, ${instant(until)}, connection_id, confined_to
    from sessions where id = ${from} and ended_at is null`)
}

interface GrantSession {
  id: string
  /** The session of the browser. */
  from: string
  tenantId: string
  /** Of the application. */
  name: string
  at: number
  until: number
}

/** Notes a use of a grant's session, which lasts until `until` then. Others stay. As the system role. */
export async function prolongGrantSession(
  statements: Statements,
  id: string,
  { at, until }: { at: number; until: number },
): Promise<void> {
  await statements.query(sql.unsafe`
    update sessions set last_used_at = ${instant(at)}, expires_at = ${instant(until)}
    where id = ${id} and kind = 'grant' and ended_at is null`)
}

/** Records that a session was used by a refresh. As the system role. */
export async function touchSession(
  tx: Tx,
  session: { id: string; at: number; ip: string; userAgent: string },
): Promise<void> {
  tx.later(sql.unsafe`
    update sessions set last_used_at = ${instant(session.at)}, ip = ${session.ip}, user_agent = ${session.userAgent}
    where id = ${session.id}`)
}

/** Notes that the person of a session showed the first factor again. As the system role. */
export function recordShownAgain(tx: Tx, { sessionId, at }: { sessionId: string; at: number }): void {
  tx.later(sql.unsafe`update sessions set auth_time = ${instant(at)} where id = ${sessionId}`)
}

const sessionRow = z.object({
  id: z.uuid(),
  tenant_id: z.uuid(),
  amr: z.array(z.string()),
  auth_time: z.number(),
  second_factor_at: z.number().nullable(),
  created_at: z.number(),
  expires_at: z.number(),
  connection_id: z.uuid().nullable(),
  confined_to: z.uuid().nullable(),
  over: z.boolean(),
  email: z.string(),
  is_active: z.boolean(),
})

export type SessionRow = z.infer<typeof sessionRow>

/** The connection by which a session began, or by which a sign-in that waits did; null: another way. */
export const connectionOf = ({
  connection_id: id,
  confined_to: tenantId,
}: Pick<SessionRow, 'connection_id' | 'confined_to'>): Connection | null =>
  id === null || tenantId === null ? null : { id, tenantId }

/**
 * Locks a live session's row until the transaction ends, so that refreshes, tenant switches and ends of one session
 * run one after another; false if the session is over. Lock it before the rows of its families, as `endSession` does:
 * the opposite order would deadlock. As the system role.
 */
export async function lockSession(tx: Tx, session: { id: string; at: number }): Promise<boolean> {
  const locked = await tx.maybeOne(sql.type(idRow)`
    select id from sessions
    where id = ${session.id} and ended_at is null and expires_at > ${instant(session.at)}
    for no key update`)
  return locked !== null
}

type SignIn = Pick<Caller, 'userId' | 'sessionId' | 'familyId' | 'token'>

/**
 * Holds a sign-in until the transaction ends: what ends all sessions of its person waits. Throws 401 `session_revoked` if
 * that came first. For a factor or key of the sign-in, which would outlive it.
 */
export async function holdSignIn(tx: Tx, signIn: SignIn): Promise<void> {
  const { userId } = signIn
  tx.later(sql.unsafe`select 1 from users where id = ${userId} ${lock(tx, userId, 'share')}`)
  await assertNotEnded(tx, signIn)
}

/**
 * Throws 401 `session_revoked` if the sign-in or its chain was ended. The person is locked by a statement before this one: one statement would
 * see the sign-in as it was before it waited for the lock.
 */
export async function assertNotEnded(tx: Tx, { userId, sessionId, familyId, token }: SignIn): Promise<void> {
  const table = token === 'otp_pending' ? sql.fragment`pending_sessions` : sql.fragment`sessions`
  const lives = await tx.exists(sql.unsafe`
    select 1 from ${table} where id = ${sessionId} and user_id = ${userId} and ended_at is null
      and not exists (select 1 from refresh_families f where f.id = ${familyId} and f.user_id = ${userId} and f.ended_at is not null)`)
  if (!lives) throw sessionRevoked()
}

/** A session and its person, before any tenant is known. As the system role. */
export function findSession(tx: Tx, sessionId: string, now: number): Promise<SessionRow | null> {
  return tx.maybeOne(sql.type(sessionRow)`
    select s.id, s.tenant_id, s.amr, s.auth_time, s.second_factor_at, s.created_at, s.expires_at, s.connection_id, s.confined_to, u.email, u.is_active,
           s.ended_at is not null or s.expires_at <= ${instant(now)} as over
    from sessions s join users u on u.id = s.user_id where s.id = ${sessionId}`)
}

const usedRow = z.object({
  id: z.uuid(),
  created_at: z.number(),
  auth_time: z.number(),
  expires_at: z.number(),
  connection_id: z.uuid().nullable(),
  confined_to: z.uuid().nullable(),
})

/** Records that a live session was used, and holds its row as {@link lockSession} does; null if it is over. As the system role. */
export function useSession(
  tx: Tx,
  { sessionId, userId, at }: { sessionId: string; userId: string; at: number },
): Promise<z.infer<typeof usedRow> | null> {
  const now = instant(at)
  return tx.maybeOne(sql.type(usedRow)`
    update sessions set last_used_at = ${now}
    where id = ${sessionId} and user_id = ${userId} and ended_at is null and expires_at > ${now}
    returning id, created_at, auth_time, expires_at, connection_id, confined_to`)
}

/** Why all of a person's sessions end. */
export type EndReason = 'logout' | 'password' | 'deactivated' | 'undone' | 'rejected'

/**
 * Ends a session, of this kind if one is named, and with it its refresh families, which are valid only while this row is;
 * true if the session was still live.
 */
export async function endSession(
  tx: Tx,
  session: {
    id: string
    userId: string
    kind?: 'grant'
    /** The session that asks: one by a connection ends only those that are confined as it is. */
    by?: string
    reason: 'logout' | 'revoked' | 'replay' | 'password'
    at: number
  },
): Promise<boolean> {
  const ofKind = session.kind ? sql.fragment`and kind = ${session.kind}` : sql.fragment``
  const visible = session.by ? sql.fragment`and ${isVisibleIn(session.by)}` : sql.fragment``
  const ended = await endingSessions(
    tx,
    sql.fragment`
      update sessions set ended_at = ${instant(session.at)}, end_reason = ${session.reason}
      where id = ${session.id} and user_id = ${session.userId} and ended_at is null ${ofKind} ${visible}
      returning id, tenant_id, user_id`,
    session.at,
  )
  return ended.length > 0
}

/**
 * Ends every live session of a person except `exceptId`, and every sign-in that waits for a second factor; returns the
 * ids of the ended sessions. As the system role.
 */
export async function endSessionsOf(
  tx: Tx,
  sessions: { userId: string; exceptId: string | null; reason: EndReason; at: number },
): Promise<readonly string[]> {
  // Before the sessions, as others lock them: the opposite order could deadlock.
  recordSessionsEnded(tx, sessions.userId, sessions.at)
  const ended = await endingSessions(
    tx,
    sql.fragment`
      update sessions set ended_at = ${instant(sessions.at)}, end_reason = ${sessions.reason}
      where user_id = ${sessions.userId} and ended_at is null and id is distinct from ${sessions.exceptId}::uuid
      returning id, tenant_id, user_id`,
    sessions.at,
  )
  await endPendingSessions(tx, sessions)
  return idsOf(ended)
}

/**
 * Ends every live session that began by a connection, and every sign-in by it that waits for a second factor; returns the
 * sessions. In the connection's tenant.
 */
export async function endSessionsBy(
  tx: Tx,
  connection: Connection,
  at: number,
): Promise<readonly EndedSession[]> {
  const ended = await endingSessions(
    tx,
    sql.fragment`
      update sessions set ended_at = ${instant(at)}, end_reason = 'revoked'
      where confined_to = ${connection.tenantId} and connection_id = ${connection.id} and ended_at is null
      returning id, tenant_id, user_id`,
    at,
    { endsGrants: true },
  )
  endPendingSessionsBy(tx, connection, at)
  return ended
}

/** Ends a person's own sessions except the newest `kept`, or those of grants; returns their ids. As the system role. */
export async function endOldestSessions(
  tx: Tx,
  sessions: { userId: string; ofGrants: boolean; kept: number; at: number },
): Promise<readonly string[]> {
  const ended = await endingSessions(
    tx,
    sql.fragment`
      update sessions set ended_at = ${instant(sessions.at)}, end_reason = 'revoked'
      where ended_at is null and id = any(array(
        select id from sessions
        where user_id = ${sessions.userId} and ended_at is null and (kind = 'grant') = ${sessions.ofGrants}
        order by created_at desc, id desc offset ${sessions.kept}))
      returning id, tenant_id, user_id`,
    sessions.at,
  )
  return idsOf(ended)
}

const idsOf = (ended: readonly EndedSession[]) => ended.map(({ id }) => id)

const listedRow = z.object({
  id: z.uuid(),
  tenant_id: z.uuid(),
  kind: z.enum(['token', 'browser', 'grant']),
  user_agent: z.string(),
  ip: z.string(),
  acr,
  amr: z.array(z.string()),
  created_at: z.number(),
  last_used_at: z.number(),
  expires_at: z.number(),
})

export type ListedSession = z.infer<typeof listedRow>

/** Sessions are listed oldest first. */
export const sessionList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`created_at`, field: 'created_at' } },
})

const listed = sql.fragment`id, tenant_id, kind, user_agent, ip, acr, amr, created_at, last_used_at, expires_at`

type Asking = Pick<Caller, 'userId' | 'sessionId'>

/** The live sessions of the person who asks; in a session by a connection, those that are confined as it is. */
const live = ({ userId, sessionId }: Asking, now: number) => sql.fragment`
  user_id = ${userId} and ended_at is null and expires_at > ${instant(now)} and ${isVisibleIn(sessionId)}`

const isVisibleIn = (sessionId: string) => {
  const own = sql.fragment`(select own.confined_to from sessions own where own.id = ${sessionId})`
  return sql.fragment`(${own} is null or confined_to = ${own})`
}

/** A page of a person's live sessions. */
export function listSessionsOf(
  tx: Read,
  asking: Asking,
  now: number,
  page: ListPage,
): Promise<readonly ListedSession[]> {
  return tx.any(sql.type(listedRow)`
    select ${listed} from sessions where ${live(asking, now)} ${page.tail}`)
}

/** One of a person's live sessions, or null. */
export function findSessionOf(
  tx: Read,
  asking: Asking,
  now: number,
  id: string,
): Promise<ListedSession | null> {
  return tx.maybeOne(sql.type(listedRow)`
    select ${listed} from sessions where ${live(asking, now)} and id = ${id}`)
}

const ofPersonRow = z.object({ live: z.number(), last_begun_at: z.number().nullable() })

/** How many live sessions a person has, and when the last of all that are kept began (ms since 1970). */
export type SessionsOfPerson = z.infer<typeof ofPersonRow>

/** Counts a person's sessions. As the system role. */
export const sessionsOfPerson = (tx: Tx, userId: string, now: number): Promise<SessionsOfPerson> =>
  tx.one(sql.type(ofPersonRow)`
    select count(*) filter (where ended_at is null and expires_at > ${instant(now)}) as live,
           max(created_at) as last_begun_at
    from sessions where user_id = ${userId}`)

/** How many live sessions match the filters. A person has few, so counting them is cheap. */
export function countSessionsOf(tx: Read, asking: Asking, now: number, page: ListPage): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    select count(*) as count from sessions where ${live(asking, now)} ${page.conditions}`)
}

/** Ends up to `limit` live sessions of the whole installation; returns the tenant of each. As the system role. */
export async function endSomeSessions(tx: Tx, at: number, limit: number): Promise<readonly string[]> {
  const ended = await endingSessions(
    tx,
    sql.fragment`
      update sessions set ended_at = ${instant(at)}, end_reason = 'revoked'
      where ended_at is null and id = any(array(select id from sessions where ended_at is null limit ${limit}))
      returning id, tenant_id, user_id`,
    at,
  )
  return ended.map(({ tenant_id }) => tenant_id)
}

/**
 * Treats the sessions that were logged out as revoked, among the `limit` sessions that follow `after`, so that no call which
 * they stored is carried out. Returns the id of the last one, or null at the end. As the system role.
 */
export function revokeLoggedOut(tx: Tx, after: string, limit: number): Promise<string | null> {
  return tx.maybeOneFirst(sql.type(idRow)`
    with page as materialized (select id, end_reason from sessions where id > ${after} order by id limit ${limit}),
         revoked as (update sessions set end_reason = 'revoked'
                     where id in (select id from page where end_reason = 'logout'))
    select id from page order by id desc limit 1`)
}
