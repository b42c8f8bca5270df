import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { idRow } from '../../database/executor/row-schemas.ts'
import { listsOfValues } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { endGrantSessions, endGrants } from '../../database/isolation/member-references.ts'
import { enqueue } from '../outbox/enqueue.ts'
import { timeOrderedId } from '../outbox/time-ordered-id.ts'

// Every end of a session, and of a grant alone, goes through this file. A grant ends by the deletion of its rows, which one
// statement alone can do: so a client is told once, in the transaction of the end. When a session merely runs out, nothing
// is owed.

const grantRow = z.object({
  tenant_id: z.uuid(),
  client_id: z.uuid(),
  user_id: z.uuid(),
  sid: z.string().nullable(),
})

/** A grant that ended: of a person, for a client of a tenant. */
export type EndedGrant = z.infer<typeof grantRow>

const columns = sql.fragment`tenant_id, client_id, user_id, sid`

const sessionRow = z.object({ id: z.uuid(), tenant_id: z.uuid(), user_id: z.uuid() })
const sessionOrGrant = z.union([sessionRow, grantRow.extend({ id: z.null() })])

/** A session that ended, the tenant in which it began, and its person. */
export type EndedSession = z.infer<typeof sessionRow>

/**
 * Ends sessions by `update`, which returns `id, tenant_id, user_id` of each, with the codes and tokens of their grants. A grant that has a
 * session of its own outlives that of its browser, but its client is told. As the system role; in a tenant with
 * `endsGrants`, for sessions that end together with those of their grants.
 */
export async function endingSessions(
  tx: Tx,
  update: FragmentSqlToken,
  at: number,
  { endsGrants = false } = {},
): Promise<EndedSession[]> {
  const ids = sql.fragment`(array(select id from ended))`
  const parted = sql.fragment`
    update oauth_models set browser_session_id = null
    where browser_session_id = any${ids} and session_id <> all${ids} returning ${columns}`
  const rows = await tx.any(sql.type(sessionOrGrant)`
    with ended as (${update}),
      gone as (delete from oauth_models where session_id = any${ids} returning kind, ${columns})
      ${endsGrants ? sql.fragment`` : sql.fragment`, parted as (${parted})`}
    select id, tenant_id, null::uuid as client_id, user_id, null::text as sid from ended
    union all select null, ${columns} from gone where kind = 'Grant'
    ${endsGrants ? sql.fragment`` : sql.fragment`union all select null, ${columns} from parted`}`)
  const grants = rows.filter((row) => row.id === null)
  await oweLogouts(tx, grants, at)
  return rows.filter((row) => row.id !== null)
}

/** Ends the grants of a person, in a tenant or in all, with their codes and tokens. */
export async function endGrantsOf(
  tx: Tx,
  { userId, tenantId }: { userId: string; tenantId?: string },
  at: number,
): Promise<void> {
  const inTenant = tenantId === undefined ? sql.fragment`` : sql.fragment`and tenant_id = ${tenantId}`
  const ended = await tx.any(sql.type(grantRow)`
    with gone as (
      delete from oauth_models where user_id = ${userId} and kind <> 'Consent' ${inTenant} returning kind, ${columns})
    select ${columns} from gone where kind = 'Grant'`)
  await oweLogouts(tx, ended, at)
}

/**
 * Ends all that applications of a tenant may do for a member who leaves it or is suspended: grants, consents, and the sessions of
 * grants.
 */
export async function endGrantsOfMember(
  tx: Tx,
  member: { tenantId: string; userId: string },
  at: number,
): Promise<void> {
  await endGrantsOf(tx, member, at)
  endGrants(tx, member)
}

/** Ends the grants of a member in a tenant with their sessions. The consents stay: the member can authorize again. */
export async function endGrantsButConsents(
  tx: Tx,
  member: { tenantId: string; userId: string },
  at: number,
): Promise<void> {
  await endGrantsOf(tx, member, at)
  endGrantSessions(tx, member)
}

const ownRow = grantRow.extend({ session_id: z.uuid() })

/** Deletes a grant with its codes and tokens; tells whose it was, or null if it is over. As the system role. */
export async function deleteGrant(
  tx: Tx,
  grantId: string,
  at: number,
): Promise<z.infer<typeof ownRow> | null> {
  const gone = await tx.maybeOne(sql.type(ownRow)`
    with gone as (delete from oauth_models where grant_id = ${grantId} returning kind, session_id, ${columns})
    select session_id, ${columns} from gone where kind = 'Grant'`)
  await oweLogouts(tx, gone ? [gone] : [], at)
  return gone
}

const clientRow = z.object({ tenant_id: z.uuid(), id: z.uuid() })

/** Writes what the clients of these grants are to be told: once for each client and session. */
async function oweLogouts(tx: Tx, ended: readonly EndedGrant[], at: number): Promise<void> {
  if (ended.length === 0) return
  const all = (key: 'tenant_id' | 'client_id') =>
    sql.array([...new Set(ended.map((one) => one[key]))], 'uuid')
  const listening = await tx.any(sql.type(clientRow)`
    select tenant_id, id from oauth_clients
    where tenant_id = any(${all('tenant_id')}) and id = any(${all('client_id')}) and is_active
      and backchannel_logout_uri is not null`)
  const ofManifests = ended.some(({ client_id }) => client_id[14] === '8')
    ? await tx.anyFirst(sql.type(idRow)`
        select id from manifest_clients
        where id = any(${all('client_id')}) and is_active and fields ->> 'backchannel_logout_uri' is not null`)
    : []
  const listens = ({ tenant_id, client_id }: EndedGrant) =>
    ofManifests.includes(client_id) ||
    listening.some((client) => client.tenant_id === tenant_id && client.id === client_id)
  const owed = new Map(ended.filter(listens).map((one) => [`${one.client_id} ${one.sid}`, one]))
  const when = new Date(at).toISOString()
  const rows = [...owed.values()].map(({ tenant_id, client_id, user_id, sid }) => [
    tenant_id,
    timeOrderedId(at),
    client_id,
    user_id,
    sid ?? '',
    when,
    when,
  ])
  for (const values of listsOfValues(rows))
    tx.later(sql.unsafe`
      insert into oauth_logouts (tenant_id, id, client_id, user_id, sid, created_at, next_attempt_at) ${values}`)
  for (const [tenantId, id] of rows) await enqueue(tx, 'logout', tenantId!, { v: 1, logout_id: id! }, at)
}
