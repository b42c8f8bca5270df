import { countedTables } from '../../src/database/count-rows.ts'
import { rowsOf } from '../helpers/query.ts'
import { type Answer, type Client, type Service, tokenIn } from '../helpers/service.ts'

/** A member of a tenant, logged in to it. */
export interface Staff extends Client {
  memberId: string
}

/** The owner of a new tenant, and functions that add others. */
export interface Firm {
  id: string
  path: string
  owner: Client
  /** Creates a person with these roles, logged in to the tenant. */
  hire(...roles: string[]): Promise<Staff>
  /** Creates a custom role with these permissions; returns its name. */
  role(...permissions: string[]): Promise<string>
}

let roles = 0

/** Returns the body of an answer, which must have this status. */
export async function expect(status: number, answer: Promise<Answer>) {
  const { status: found, body } = await answer
  if (found !== status) throw new Error(`Expected ${status}, got ${found} ${JSON.stringify(body)}`)
  return body
}

/** Verifies a person's address by the link of the mail to it. */
export async function confirmAddress(service: Service, { email }: { email: string }): Promise<void> {
  const token = tokenIn(await service.mailTo(email, 'Confirm'))
  await expect(200, service.call('POST', '/api/v1/auth/email/verify/confirm/', { body: { token } }))
}

/** Creates a tenant in addition to the owner's personal one. */
export async function foundFirm(service: Service): Promise<Firm> {
  const owner = await service.signUp()
  const { id } = await expect(201, owner.post('/api/v1/tenants/', { name: 'Firm' }))
  await owner.switchTo(id)
  const path = `/api/v1/tenants/${id}`
  return {
    id,
    path,
    owner,
    async hire(...roles) {
      const person = await service.signUp()
      const member = await expect(201, owner.post(`${path}/members/`, { user_id: person.id, roles }))
      await person.switchTo(id)
      return Object.assign(person, { memberId: member.id })
    },
    async role(...permissions) {
      const name = `Role ${++roles}`
      await expect(201, owner.post(`${path}/roles/`, { name, permissions }))
      return name
    },
  }
}

/** Runs one query as superuser, to read what no role of the service can. */
export const look = (service: Service, query: string, values: unknown[] = []) =>
  rowsOf(service.databases.superuser, query, values)

/** The types of a tenant's events that start with `prefix`, oldest first. */
export async function eventsOf(service: Service, tenantId: string, prefix = 'tenant.'): Promise<string[]> {
  const rows = await look(
    service,
    'select type from events where tenant_id = $1 and type like $2 order by id',
    [tenantId, `${prefix}%`],
  )
  return rows.map((row) => row.type)
}

/**
 * The counters of row_counts that differ from the rows that they count, of all tenants that were made at `since` (ms) or
 * later. Files that share a service give the time at which they began.
 */
export const wrongCounts = (service: Service, since = 0) =>
  look(
    service,
    `select tenant_id, relation, coalesce(c.rows, 0)::int as counted, coalesce(a.rows, 0)::int as rows
     from (${countedTables
       .map(
         (table) =>
           `select tenant_id, '${table}' as relation, count(*) as rows from ${table} group by tenant_id`,
       )
       .join(' union all ')}) a
     full join row_counts c using (tenant_id, relation) where coalesce(a.rows, 0) <> coalesce(c.rows, 0)
       and tenant_id not in (select id from tenants where created_at < $1)`,
    [new Date(since)],
  )
