import pg from 'pg'
import type { Answer, Client, Service } from '../helpers/service.ts'

/** A member of a tenant, logged in to it. */
export interface Staff extends Client {
  memberId: string
}

/** A new tenant's owner, and how others join it. */
export interface Firm {
  id: string
  path: string
  owner: Client
  /** Somebody new with these roles, switched to the tenant. */
  hire(...roles: string[]): Promise<Staff>
  /** A custom role of these permissions; gives its name. */
  role(...permissions: string[]): Promise<string>
}

let roles = 0

/** Gives the body of an answer that has to have this status. */
export async function expect(status: number, answer: Promise<Answer>) {
  const { status: found, body } = await answer
  if (found !== status) throw new Error(`Expected ${status}, got ${found} ${JSON.stringify(body)}`)
  return body
}

/** Founds a tenant beside the owner's personal one. */
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

/** Runs one query as superuser: what no role of the service would show. */
export async function look(service: Service, query: string, values: unknown[] = []) {
  const client = new pg.Client({ connectionString: service.databases.superuser })
  await client.connect()
  try {
    return (await client.query(query, values)).rows
  } finally {
    await client.end()
  }
}

/** Types of the events of a tenant, oldest first, of those that begin with `prefix`. */
export async function eventsOf(service: Service, tenantId: string, prefix = 'tenant.'): Promise<string[]> {
  const rows = await look(
    service,
    'select type from events where tenant_id = $1 and type like $2 order by id',
    [tenantId, `${prefix}%`],
  )
  return rows.map((row) => row.type)
}
