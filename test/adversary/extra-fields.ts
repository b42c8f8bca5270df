import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { catalogueTables } from '../database/seed-rows.ts'
import type { Json, Service } from '../helpers/service.ts'
import { look } from '../tenancy/staff.ts'
import type { Attack, Tally } from './attack.ts'
import { furnish } from './furnish.ts'
import { membersOf, nameOf, ownAddress, ownObjects, routesOf } from './route-addresses.ts'

// Members that a body does not have, with values that could not have come from elsewhere. None may arrive in any row.

const time = '1999-09-09T09:09:09Z'

const extrasWith = (id: string, tenantId: string) => ({
  id,
  tenant_id: tenantId,
  membership_id: id,
  owner_id: id,
  created_by: id,
  requester_id: id,
  is_superuser: true,
  is_staff: true,
  is_system: true,
  email_verified: true,
  email_verified_at: time,
  is_active: false,
  password_hash: 'marked-by-the-attack',
  acr: 'aal2',
  mfa_enabled: true,
  created_at: time,
  updated_at: time,
  joined_at: time,
  expires_at: time,
  deleted_at: time,
  version: 4_242_424,
  secret_sealed: 'marked-by-the-attack',
  slug_history: ['marked-by-the-attack'],
  constructor: { prototype: { polluted: true } },
})

/** A body that each route accepts, so that the rest of it is the only question. */
let made = 0
const base: Record<string, () => object> = {
  'POST /api/v1/tenants': () => ({ name: `T${++made}` }),
  'POST /api/v1/tenants/:id/roles': () => ({ name: `R${++made}` }),
  'POST /api/v1/tenants/:id/departments': () => ({ name: `D${++made}` }),
  'POST /api/v1/tenants/:id/invitations': () => ({ email: `fields.${++made}@example.com` }),
  'POST /api/v1/service-accounts': () => ({ name: `S${++made}` }),
  'POST /api/v1/policies': () => ({ name: `P${++made}`, effect: 'deny', actions: ['document:read'] }),
  'POST /api/v1/webhooks': () => ({ url: 'https://hooks.example.com/x' }),
  'POST /api/v1/attribute-definitions': () => ({
    key: `k${++made}`,
    display_name: 'K',
    category: 'subject',
    data_type: 'string',
  }),
  'POST /api/v1/auth/register': () => ({
    email: `fields.${++made}@example.com`,
    password: 'a quiet harbour',
  }),
}

export const extraFields: Attack = {
  name: 'fields',
  about:
    'members that a body does not have: ids, tenants, flags, times, prototypes; then without the refused ones',
  async run(stage, tally) {
    const service = await stage.fresh({ workers: false })
    const { owner, hire } = await furnish(service)
    const member = await hire('member')
    const [marked, foreign] = [randomUUID(), randomUUID()]
    const routes = routesOf(service).filter(
      ({ method, path }) =>
        method !== 'GET' && method !== 'DELETE' && !/logout|password|\/(suspend|archive)$|switch/.test(path),
    )
    const objects = await ownObjects(owner, routesOf(service))
    let accepted = 0
    for (const route of routes)
      for (const caller of [owner, member]) {
        // A member of the body that the route knows keeps its meaning.
        const known = Object.keys(membersOf(route.body))
        const extras = Object.fromEntries(
          Object.entries(extrasWith(marked, foreign)).filter(([name]) => !known.includes(name)),
        )
        const address = ownAddress(route, caller, objects)
        const send = async () => {
          const text = JSON.stringify({ ...base[nameOf(route)]?.(), ...extras })
          const body = text.replace(/\}$/, ',"__proto__":{"polluted":true}}')
          const answer = await tally.refuse(
            nameOf(route),
            () => service.call(route.method, address, { token: caller.access, body }),
            ({ status, body }) => status < 500 && !JSON.stringify(body ?? '').includes(marked),
          )
          if (answer && answer.status < 300) accepted++
          return (answer?.body?.errors ?? []).filter(({ code }: Json) => code === 'unknown_field')
        }
        // Some are refused, 20 in an answer. Without those, the rest has to be ignored.
        for (let unknown = await send(), times = 0; unknown.length > 0 && times < 2; times++) {
          for (const { field } of unknown) delete extras[field]
          unknown = await send()
        }
      }
    await findMarks(tally, service, [marked, foreign, '1999-09-09', '4242424', 'marked-by-the-attack'])
    await flagsAreAsBefore(tally, service, [owner.id, member.id])
    tally.check(({} as { polluted?: boolean }).polluted === undefined, 'no prototype was changed')
    tally.figures.push(
      `${accepted} of ${routes.length * 2} requests were accepted, without the extra members`,
    )
  },
}

/** Looks for each mark in every column of every row. The log of calls may name an id that was asked for. */
async function findMarks(tally: Tally, service: Service, marks: readonly string[]) {
  const client = new pg.Client({ connectionString: service.databases.superuser })
  await client.connect()
  try {
    for (const { name } of await catalogueTables(client))
      for (const mark of marks) {
        const { rows } = await client.query(
          `select t::text as row from ${name} t where t::text like $1 limit 1`,
          [`%${mark}%`],
        )
        tally.check(rows.length === 0, `no row of ${name} contains ${mark}: ${rows[0]?.row.slice(0, 200)}`)
      }
  } finally {
    await client.end()
  }
}

async function flagsAreAsBefore(tally: Tally, service: Service, people: readonly string[]) {
  const users = await look(service, 'select is_active from users where id = any ($1)', [people])
  tally.check(
    users.every(({ is_active }) => is_active),
    'nobody was deactivated by a body',
  )
  const system = await look(
    service,
    `select name from roles where is_system and name !~ '^(owner|admin|member|auditor)$'`,
  )
  tally.check(system.length === 0, 'no role became a system role by a body')
  const sessions = await look(service, `select from sessions where acr <> 'aal1'`)
  tally.check(sessions.length === 0, 'no session became stronger by a body')
}
