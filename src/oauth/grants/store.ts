import { z } from 'zod'
import { isUuid } from '../../crypto/uuid.ts'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { defineList, type ListPage } from '../../lists/list.ts'
import { type ClientKey, readClientId } from '../clients/client-id.ts'
import { clientKinds } from '../clients/store.ts'

/**
 * Whose grants: those that a person gave, in all tenants or in `only` one, or those of all people for the applications of a tenant.
 */
export type Whose = Own | { tenantId: string }

export interface Own {
  userId: string
  only: string | null
}

const grantRow = z.object({
  id: z.uuid(),
  tenant_id: z.uuid(),
  client_id: z.uuid(),
  user_id: z.uuid(),
  scope: z.string(),
  created_at: z.number(),
  last_used_at: z.number(),
})

export type GrantRow = z.infer<typeof grantRow>

const order = {
  id: { column: sql.fragment`g.id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`g.created_at`, field: 'created_at' } },
}

/** The grants of a person. */
export const ownGrantList = defineList(order)

/** The grants of a tenant. */
export const grantList = defineList({
  ...order,
  filters: {
    client_id: {
      schema: z
        .string()
        .refine((text) => readClientId(text) !== null, 'Give the id of an application: bwa_…'),
      reveals: ['client.id'],
      where: (value) => sql.fragment`g.client_id = ${readClientId(String(value))!.id}`,
    },
    user_id: {
      schema: z.string().refine(isUuid, 'Give the id of a person, which is a UUID.'),
      reveals: ['user.id'],
      where: (value) => sql.fragment`g.user_id = ${value}`,
    },
  },
})

const live = (whose: Whose, now: number) => sql.fragment`
  from oauth_models g join sessions s on s.id = g.session_id
  where g.kind = 'Grant' and s.ended_at is null and s.expires_at > ${instant(now)}
    and ${'userId' in whose ? ofPerson(whose) : sql.fragment`g.tenant_id = ${whose.tenantId}`}`

const ofPerson = ({ userId, only }: Own) =>
  only === null
    ? sql.fragment`g.user_id = ${userId}`
    : sql.fragment`g.user_id = ${userId} and g.tenant_id = ${only}`

/** A page of the grants whose session is live. The newest code or token of a grant tells its last use. As the system role. */
export function listGrants(
  read: Read,
  whose: Whose,
  page: ListPage,
  now: number,
): Promise<readonly GrantRow[]> {
  return read.any(sql.type(grantRow)`
    select g.id, g.tenant_id, g.client_id, g.user_id, concat(g.payload->'openid'->>'scope', ' ', (
             select string_agg(r.value, ' ') from jsonb_each_text(g.payload->'resources') r)) as scope, g.created_at,
           (select max(m.created_at) from oauth_models m where m.grant_id = g.grant_id) as last_used_at
    ${live(whose, now)} ${page.tail}`)
}

const connectionRow = z.object({
  tenant_id: z.uuid(),
  client_id: z.uuid(),
  user_id: z.uuid(),
  count: z.number(),
  since: z.number(),
})

/** The clients of a person's grants, in each tenant, those that were authorized last first; at most `limit`. As the system role. */
export function listConnections(
  read: Read,
  own: Own,
  { now, limit, offset }: { now: number; limit: number; offset: number },
) {
  return read.any(sql.type(connectionRow)`
    select g.tenant_id, g.client_id, g.user_id, count(*) as count, min(g.created_at) as since
    ${live(own, now)} group by g.tenant_id, g.client_id, g.user_id
    order by max(g.created_at) desc, g.client_id, g.tenant_id limit ${limit} offset ${offset}`)
}

/** The grants of a person for a client. As the system role. */
export function listGrantsFor(
  read: Read,
  own: Own,
  { tenantId, id }: ClientKey,
  now: number,
): Promise<readonly string[]> {
  return read.anyFirst(sql.type(idRow)`
    select g.id ${live(own, now)} and g.tenant_id = ${tenantId} and g.client_id = ${id}`)
}

/** How many grants match the filters. As the system role. */
export function countGrants(read: Read, whose: Whose, page: ListPage, now: number): Promise<number> {
  return read.oneFirst(sql.type(countRow)`select count(*) ${live(whose, now)} ${page.conditions}`)
}

const foundRow = z.object({ grant_id: z.string(), user_id: z.uuid() })

/** A live grant; null if it is over, unknown or of others. As the system role. */
export function findGrant(tx: Tx, whose: Whose, id: string, now: number) {
  return tx.maybeOne(sql.type(foundRow)`
    select g.grant_id, g.user_id ${live(whose, now)} and g.id = ${id}`)
}

const clientRow = z.object({
  id: z.uuid(),
  name: z.string(),
  kind: z.enum(clientKinds),
  first_party: z.boolean(),
})
const tenantRow = z.object({ id: z.uuid(), slug: z.string(), name: z.string() })
const memberRow = z.object({ user_id: z.uuid(), email: z.string() })

/** What the ids in grants stand for; what is deleted, and who has left, is missing. As the system role. */
export async function namesIn(
  read: Read,
  grants: readonly Pick<GrantRow, 'tenant_id' | 'client_id' | 'user_id'>[],
) {
  const all = (key: 'tenant_id' | 'client_id' | 'user_id') =>
    sql.array([...new Set(grants.map((grant) => grant[key]))], 'uuid')
  const [clients, ofManifests, tenants, members] = await Promise.all([
    read.any(sql.type(clientRow)`
      select id, name, kind, first_party from oauth_clients
      where tenant_id = any(${all('tenant_id')}) and id = any(${all('client_id')})`),
    read.any(sql.type(clientRow)`
      select id, fields ->> 'name' as name, fields ->> 'kind' as kind,
             coalesce((fields ->> 'first_party')::boolean, false) as first_party
      from manifest_clients where id = any(${all('client_id')}) and is_active`),
    read.any(sql.type(tenantRow)`select id, slug, name from tenants where id = any(${all('tenant_id')})`),
    read.any(sql.type(memberRow)`
      select user_id, email from memberships
      where tenant_id = any(${all('tenant_id')}) and user_id = any(${all('user_id')})`),
  ])
  return { clients: [...clients, ...ofManifests], tenants, members }
}

export type Names = Awaited<ReturnType<typeof namesIn>>
