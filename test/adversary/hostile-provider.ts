import { randomUUID } from 'node:crypto'
import { startProvider } from '../federation/provider.ts'
import { tenantProvider } from '../federation/tenant-provider.ts'
import { changesOf, readRows } from '../helpers/changed-rows.ts'
import { colleague } from '../helpers/colleague.ts'
import { query, rowsOf } from '../helpers/query.ts'
import type { Client, Service } from '../helpers/service.ts'
import { openPages } from '../pages/sign-in/page-client.ts'
import type { Attack, Tally } from './attack.ts'
import { falseName, type Victim, ways } from './false-names.ts'

// A tenant that controls its provider names people of three other tenants in each way that it can. The other tenants lent it a domain,
// have taken over one that it lost, and have one that it asks for. No session begins, and no row of anything changes.

export const hostileProvider: Attack = {
  name: 'hostile-provider',
  about: 'a provider that names people of other tenants',
  async run(stage, tally) {
    const ends: (() => unknown)[] = []
    const provider = await startProvider({ teardown: (end) => void ends.push(end as () => unknown) })
    const env = { FEDERATION_ALLOWED_HOSTS: 'localhost', RATE_LIMIT_ENABLED: 'false' }
    const service = await stage.fresh({ workers: false, env })
    const database = service.databases.superuser
    const tenants = tenantProvider(service, provider)
    const { victims, hostile, connection, domain } = await openTenants(service, tenants)

    const before = await readRows(database)
    const tries = stage.pick(60, 400, 2_400)
    // Coprime to the ways, so that few tries meet all subjects, addresses and other claims.
    for (let n = 0; n < tries; n++) {
      const victim = victims[n % victims.length]!
      const name = falseName(victim, domain, (n * 4_597) % ways)
      const { pages, seen } = await tenants.through(connection, name)
      const isRefused = [400, 403].includes(seen.status) && !/ · /.test((await signedIn(pages)) ?? '')
      tally.count(JSON.stringify(name).slice(0, 300), isRefused ? null : `${seen.status} ${seen.title}`)
    }
    const changes = changesOf(before, await readRows(database))
    tally.count(`${tries} false names`, changes.length === 0 ? null : changes.join())
    await races(service, tenants, { hostile, rounds: stage.pick(1, 4, 20), tally })
    for (const end of ends) await end()
  },
}

const signedIn = async (pages: ReturnType<typeof openPages>) =>
  /class="who">(.*)/.exec((await pages.visit('/sign-in/')).text)?.[1]

type Tenants = ReturnType<typeof tenantProvider>

/** Three tenants with an owner and a member who signs in by a connection, and the tenant that attacks them. */
async function openTenants(service: Service, tenants: Tenants) {
  const { connect, verify, moveTo } = tenants
  const database = service.databases.superuser
  const hostile = await service.signUp()
  const domain = `${randomUUID()}.example`
  await verify(hostile, domain)
  const connection = await connect(hostile)
  const victims: Victim[] = []
  for (const relation of ['lends', 'took over', 'is asked for']) {
    const owner = await service.signUp()
    const name = `${relation.replaceAll(' ', '-')}.${randomUUID()}.example`
    const claimed = { 'took over': 'lost', 'is asked for': 'pending' }[relation]
    if (claimed) await verify(hostile, name, { status: claimed })
    await verify(owner, name, { lentTo: claimed ? [] : [hostile.tenantId] })
    const own = await connect(owner)
    for (const person of [owner, await colleague(service, owner)]) {
      const [email, subject] = [`${person.id}@${name}`, randomUUID()]
      await moveTo(person, email)
      await query(database, `update users set email_verified_at = now() where id = '${person.id}'`)
      await tenants.through(own, { sub: subject, email })
      const ofVictim = { id: person.id, tenantId: owner.tenantId, email, subject, connectionId: own }
      victims.push(ofVictim)
    }
  }
  return { victims, hostile, connection, domain }
}

interface Races {
  hostile: Client
  rounds: number
  tally: Tally
}

/**
 * What ends the right of a connection comes at the same time as the answer about a member: none of a connection that ended is left, and a
 * member who was removed is none again (each use of a session looks for its membership).
 */
async function races(service: Service, tenants: Tenants, { hostile, rounds, tally }: Races) {
  const { connect, verify, moveTo } = tenants
  const database = service.databases.superuser
  for (let round = 0; round < rounds; round++)
    for (const end of ['disabled', 'deleted', 'lost', 'removed'] as const) {
      const name = `${randomUUID()}.example`
      await verify(hostile, name)
      const id = await connect(hostile)
      const person = await colleague(service, hostile)
      await moveTo(person, `ada@${name}`)
      await query(database, `update users set email_verified_at = now() where id = '${person.id}'`)
      const path = `/api/v1/connections/${id}/`
      const member = `from memberships where user_id = '${person.id}' and tenant_id = '${hostile.tenantId}'`
      const ending = {
        disabled: () => hostile.patch(path, { status: 'disabled' }),
        deleted: () => hostile.delete(path),
        lost: () => query(database, `update domains set status = 'lost' where domain = '${name}'`),
        removed: async () => {
          const [{ id: membership }] = await rowsOf(database, `select id ${member}`)
          return hostile.delete(`/api/v1/tenants/${hostile.tenantId}/members/${membership}/`)
        },
      }[end]
      const pages = openPages(service)
      const back = await tenants.begin(id, { sub: randomUUID(), email: `ada@${name}` }, pages)
      await Promise.all([pages.visit(back), ending()])
      const [left] = await rowsOf(
        database,
        `select (select count(*)::int from sessions where user_id = '${person.id}' and connection_id = '${id}' and ended_at is null)
           as sessions,
         (select count(*)::int from federated_identities where user_id = '${person.id}' and connection_id = '${id}') as links,
         (select count(*)::int ${member}) as memberships`,
      )
      const isRight = {
        disabled: left.sessions === 0,
        deleted: left.sessions === 0 && left.links === 0,
        lost: left.sessions === left.links, // before: linked and signed in; after: neither
        removed: left.memberships === 0,
      }[end]
      tally.count(`${end} meanwhile`, isRight ? null : JSON.stringify(left))
      if (end !== 'deleted') await hostile.delete(path) // a tenant has 20 at most
    }
}
