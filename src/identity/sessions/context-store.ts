import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { nilUuid } from '../../crypto/uuid.ts'
import { joinRows, parameterizedJoin } from '../../database/executor/join-rows.ts'
import { secondsOf } from '../../database/executor/parameterized.ts'
import type { Read } from '../../database/executor/read.ts'
import { sql } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { isProven } from '../../database/proven-address.ts'
import { revisionOf } from '../../database/revisions.ts'
import { systemRoles } from '../../policy-engine/catalogue/actions.ts'
import { acr } from './store.ts'

export const authContextRow = z.object({
  user_id: z.uuid(),
  email: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  email_verified: z.boolean(),
  is_active: z.boolean(),
  mfa_enabled: z.boolean(),
  date_joined: z.number(),
  locale: z.string().nullable(),
  zoneinfo: z.string().nullable(),
  user_version: z.number(),
  acr,
  amr: z.array(z.string()),
  auth_time: z.number(),
  second_factor_at: z.number().nullable(),
  over: z.boolean(),
  begun_at: z.number().nullable(),
  connection_id: z.uuid().nullable(),
  confined_to: z.uuid().nullable(),
  /** When the tenant ended the sessions of the member that had begun by then. */
  ended_here_at: z.number().nullable(),
  tenant_id: z.uuid().nullable(),
  tenant_status: z.enum(['active', 'suspended', 'archived']).nullable(),
  require_mfa: z.boolean().nullable(),
  require_sso: z.boolean().nullable(),
  time_zone: z.string().nullable(),
  policy_revision: z.number().nullable(),
  membership_id: z.uuid().nullable(),
  membership_status: z.enum(['active', 'suspended']).nullable(),
  department_id: z.uuid().nullable(),
  manager_id: z.uuid().nullable(),
  joined_at: z.number().nullable(),
  attributes: z.record(z.string(), z.unknown()).nullable(),
  roles: z.array(z.string()),
  role_ids: z.array(z.uuid()),
  system_roles: z.array(z.enum(systemRoles)),
  permissions: z.array(z.string()),
})

export type AuthContextRow = z.infer<typeof authContextRow>

const connectionColumns = sql.fragment`s.connection_id, s.confined_to`

/** The same of what is no session. */
export const noConnection = sql.fragment`null::uuid as connection_id, null::uuid as confined_to`

/** Whether the tenant ended the session for itself. */
export const isOverHere = ({ begun_at, ended_here_at }: AuthContextRow): boolean =>
  begun_at !== null && ended_here_at !== null && ended_here_at >= begun_at

type BearerKey = {
  userId: string
  sessionId: string
  /** The chain of the token; null for a token of release 0.1. */
  familyId: string | null
  tenantId: string
  now: number
}

/** Everything that a request needs to know about its bearer, in one round trip: session, chain, person, tenant, membership, roles. */
export function findAuthContext(read: Read, { now, ...bearer }: BearerKey): Promise<AuthContextRow | null> {
  return readSessionContext(read, {
    ...bearer,
    familyId: bearer.familyId ?? nilUuid,
    seconds: secondsOf(now),
  })
}

type AtSeconds = Omit<BearerKey, 'now' | 'familyId'> & { familyId: string; seconds: string }

const overAt = ({ seconds }: AtSeconds) =>
  sql.fragment`s.ended_at is not null or f.ended_at is not null or least(s.expires_at, f.ends_at) <= to_timestamp(${seconds})`

const readSessionContext = parameterizedJoin(authContextRow, (bearer: AtSeconds, read) =>
  contextQueries(read, bearer, { ...persons, session: sessionOf(bearer, overAt(bearer)) }),
)

const grantContextRow = authContextRow.extend({
  /** The membership when the person authorized the application. */
  granted_membership_id: z.string().nullable(),
  client_scopes: z.array(z.string()),
})

type GrantKey = Omit<BearerKey, 'familyId' | 'sessionId'> & { grantId: string; clientId: string }

/**
 * The same for the person of a grant that an application got, with the scopes of its client. Null if the grant is over, or the
 * client disabled or deleted.
 */
export const findGrantContext = (read: Read, { now, ...grant }: GrantKey) =>
  readGrantContext(read, { ...grant, seconds: secondsOf(now) })

const readGrantContext = parameterizedJoin(
  grantContextRow,
  (grant: Omit<GrantKey, 'now'> & { seconds: string }, read) => {
    const { userId, tenantId, grantId, clientId, seconds } = grant
    const session = sql.fragment`
      select s.acr, s.amr, s.auth_time, s.second_factor_at, s.created_at as begun_at, ${connectionColumns},
             s.ended_at is not null or s.expires_at <= to_timestamp(${seconds}) as over,
             g.payload -> 'auth' ->> 'membershipId' as granted_membership_id
      from oauth_models g join sessions s on s.id = g.session_id and s.user_id = g.user_id
      where g.id = ${grantId} and g.kind = 'Grant' and g.user_id = ${userId} and g.client_id = ${clientId}`
    const more = sql.fragment`, s.granted_membership_id`
    return [
      ...contextQueries(read, grant, { ...persons, session, more }),
      sql.fragment`
        select c.scopes as client_scopes from oauth_clients c
        where c.tenant_id = ${tenantId} and c.id = ${clientId} and c.is_active`,
    ]
  },
)

/**
 * The same for the holder of a code or token of an application. The session is that of its grant, a row of `oauth_models`
 * with this key (hex). As the system role.
 */
export const findHolderContext = (
  read: Read,
  { now, ...holder }: { userId: string; tenantId: string; grantKey: string; now: number },
): Promise<AuthContextRow | null> => readHolderContext(read, { ...holder, seconds: secondsOf(now) })

const readHolderContext = parameterizedJoin(
  authContextRow,
  (holder: { userId: string; tenantId: string; grantKey: string; seconds: string }, read) => {
    const session = sql.fragment`
      select s.acr, s.amr, s.auth_time, s.second_factor_at, s.created_at as begun_at, ${connectionColumns},
             s.ended_at is not null or s.expires_at <= to_timestamp(${holder.seconds}) as over
      from sessions s
      where s.id = (select session_id from oauth_models where id_hash = decode(${holder.grantKey}, 'hex'))
        and s.user_id = ${holder.userId}`
    return contextQueries(read, holder, { ...persons, session })
  },
)

/**
 * The same for the requester of a call that was stored at `storedAt`. A session that has ended by its time, or by its
 * person who logged out, is not over, unless all sessions of the person, or its chain, were ended since.
 */
export const findRequesterContext = (
  tx: Read,
  bearer: BearerKey & { storedAt: number },
): Promise<AuthContextRow | null> => {
  const over = sql.fragment`f.ended_at is not null or s.ended_at is not null and (s.end_reason is distinct from 'logout' or exists (
    select 1 from users p where p.id = s.user_id and p.sessions_ended_at >= ${instant(bearer.storedAt)}))`
  return authContextWith(tx, bearer, sessionOf(bearer, over))
}

/** A second factor counts for its chain alone. A chain of an earlier release, and no chain, are as the session began. */
const sessionOf = (
  { sessionId, familyId, userId }: Pick<BearerKey, 'sessionId' | 'familyId' | 'userId'>,
  over: FragmentSqlToken,
) => sql.fragment`
  select case when f.amr is null then s.acr when f.second_factor_at is null then 'aal1' else 'aal2' end as acr,
         coalesce(f.amr, s.amr) as amr, s.auth_time,
         case when f.amr is null then s.second_factor_at else f.second_factor_at end as second_factor_at,
         s.created_at as begun_at, ${connectionColumns}, ${over} as over
  from sessions s left join refresh_families f on f.id = ${familyId} and f.session_id = s.id
  where s.id = ${sessionId} and s.user_id = ${userId}`

/**
 * The same for the bearer of a temporary token. The tenant is reported as active whatever its status: owners can enter
 * a closed tenant, so the status is checked when the sign-in completes.
 */
export async function findPendingAuthContext(tx: Read, bearer: BearerKey): Promise<AuthContextRow | null> {
  const now = instant(bearer.now)
  const session = sql.fragment`
    select 'aal1' as acr, p.amr, p.auth_time, null::timestamptz as second_factor_at, s.created_at as begun_at,
           p.connection_id, p.confined_to,
           p.ended_at is not null or p.expires_at <= ${now} or s.ended_at is not null or (s.expires_at <= ${now}) is true as over
    from pending_sessions p left join sessions s on s.id = p.session_id
    where p.id = ${bearer.sessionId} and p.user_id = ${bearer.userId}`
  const row = await authContextWith(tx, bearer, session)
  return row && { ...row, tenant_status: row.tenant_status && 'active' }
}

/** What a context is read from. `hasFactor`: whether the holder has a second factor; `more`: columns of the session. */
interface ContextSource {
  users: FragmentSqlToken
  memberColumn: FragmentSqlToken
  hasFactor: (userId: string) => FragmentSqlToken
  session: FragmentSqlToken
  more?: FragmentSqlToken
}

type Member = Pick<BearerKey, 'userId' | 'tenantId'>

/** Persons, the column of memberships that names them, and their second factors. */
export const persons = {
  users: sql.fragment`users`,
  memberColumn: sql.fragment`m.user_id`,
  hasFactor: (userId: string) => sql.fragment`
    exists (select 1 from otp_devices d where d.user_id = ${userId} and d.type = 'totp' and d.confirmed_at is not null)
      or exists (select 1 from passkeys p where p.user_id = ${userId})`,
}

/** The service accounts of a tenant, in their place. */
export const accountsOf = (tenantId: string) => ({
  users: sql.fragment`(
    select a.id, a.email, a.first_name, a.last_name, a.email_verified, true as is_active,
           a.joined_at as date_joined, null::text as locale, null::text as zoneinfo, a.version
    from memberships a where a.tenant_id = ${tenantId} and a.kind = 'service_account')`,
  memberColumn: sql.fragment`m.id`,
  hasFactor: () => sql.fragment`false`,
})

const machineContextRow = authContextRow.extend({
  client_scopes: z.array(z.string()),
  client_made_by: z.uuid(),
})

/**
 * The same for the service account that a machine acts as, with the scopes of its client. Null if the client is disabled or
 * deleted, or acts as another account. It signs in by no session: its time of authentication is 1970.
 */
export const findMachineContext = parameterizedJoin(
  machineContextRow,
  (machine: { userId: string; tenantId: string; clientId: string }, read) => {
    const { userId, tenantId, clientId } = machine
    const session = sql.fragment`
      select 'aal1' as acr, '{}'::text[] as amr, 'epoch'::timestamptz as auth_time,
             null::timestamptz as second_factor_at, null::timestamptz as begun_at, false as over, ${noConnection},
             c.scopes as client_scopes, c.created_by as client_made_by
      from oauth_clients c
      where c.tenant_id = ${tenantId} and c.id = ${clientId} and c.service_account_id = ${userId} and c.is_active`
    const more = sql.fragment`, s.client_scopes, s.client_made_by`
    return contextQueries(read, machine, { ...accountsOf(tenantId), session, more })
  },
)

/** The context of a person in a tenant, with the facts of a `session`. */
export const authContextWith = (
  tx: Read,
  bearer: Member,
  session: FragmentSqlToken,
): Promise<AuthContextRow | null> => readContext(tx, authContextRow, bearer, { ...persons, session })

/** Reads an {@link authContextRow} and the `more` columns, as `row` describes them. Null without session or person. */
export const readContext = <Row extends z.ZodObject>(
  read: Read,
  row: Row,
  bearer: Member,
  source: ContextSource,
): Promise<z.infer<Row> | null> =>
  joinRows(read, row, contextQueries(read, bearer, source)) as Promise<z.infer<Row> | null>

/** The session, the person, and the tenant with the membership. */
function contextQueries(read: Read, bearer: Member, source: ContextSource): FragmentSqlToken[] {
  const { users, memberColumn, session, more = sql.fragment`` } = source
  const { userId, tenantId } = bearer
  return [
    sql.fragment`select ${sessionColumns} ${more} from (${session}) s`,
    sql.fragment`select ${personColumns(bearer, source)} from ${users} u where u.id = ${userId}`,
    sql.fragment`
      select ${tenantColumns}, ${revisionOf(read, tenantId)} as policy_revision, ${memberColumns}
      from (select 1) one
      left join tenants t on t.id = ${tenantId} and t.deleted_at is null
      left join memberships m on m.tenant_id = ${tenantId} and m.tenant_id = t.id and ${memberColumn} = ${userId}
      ${rolesOfMember(bearer)}`,
  ]
}

const sessionColumns = sql.fragment`
  s.acr, s.amr, s.auth_time, s.second_factor_at, s.begun_at, s.over, s.connection_id, s.confined_to`

const personColumns = ({ userId }: Member, { hasFactor }: ContextSource) => sql.fragment`
  u.id as user_id, u.email, u.first_name, u.last_name, ${isProven} as email_verified,
  u.is_active, u.date_joined, u.locale, u.zoneinfo, u.version as user_version, ${hasFactor(userId)} as mfa_enabled`

const tenantColumns = sql.fragment`
  t.id as tenant_id, t.status as tenant_status, (t.settings ->> 'require_mfa')::boolean as require_mfa,
  t.settings ->> 'sso' = 'required' as require_sso,
  t.settings ->> 'time_zone' as time_zone`

const memberColumns = sql.fragment`
  m.id as membership_id, m.status as membership_status, m.department_id, m.manager_id, m.joined_at, m.attributes,
  m.sessions_ended_at as ended_here_at, r.roles, r.role_ids, r.system_roles, r.permissions`

const rolesOfMember = ({ tenantId }: Member) => sql.fragment`
  cross join lateral (
    select coalesce(array_agg(r.name order by r.created_at, r.id), '{}') as roles,
           coalesce(array_agg(r.id order by r.created_at, r.id), '{}') as role_ids,
           coalesce(array_agg(r.name) filter (where r.is_system), '{}') as system_roles,
           coalesce((select array_agg(distinct p) from membership_roles x
                     join roles y on y.tenant_id = x.tenant_id and y.id = x.role_id
                     cross join lateral unnest(y.permissions) p
                     where x.tenant_id = ${tenantId} and x.membership_id = m.id), '{}') as permissions
    from membership_roles mr join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
    where mr.tenant_id = ${tenantId} and mr.membership_id = m.id) r`

/** The context of a member who has no session, because another member acts as them. */
export function findMemberContext(
  read: Read,
  member: { userId: string; tenantId: string },
): Promise<AuthContextRow | null> {
  const none = sql.fragment`
    select 'aal1' as acr, '{}'::text[] as amr, 'epoch'::timestamptz as auth_time,
           null::timestamptz as second_factor_at, null::timestamptz as begun_at, false as over,
           ${noConnection}`
  const users = sql.fragment`(
    select m.user_id as id, m.email, m.first_name, m.last_name, m.email_verified, m.is_active, m.date_joined,
           null::text as locale, null::text as zoneinfo, m.person_version as version
    from memberships m where m.tenant_id = ${member.tenantId})`
  return readContext(read, authContextRow, member, { ...persons, users, session: none })
}
