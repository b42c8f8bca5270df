// own process: it has a cluster of its own, to which it adds a node
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { numberedEventsOf, openDatabase } from '../helpers/event-log.ts'
import { query } from '../helpers/query.ts'
import type { Answer, Client } from '../helpers/service.ts'
import { serveCluster, skip, untilServed } from './served-cluster.ts'

const people = 6
const maxRounds = 80

t.test('tenants move to a new node while they are served', { skip }, async (t) => {
  const { service, nodeOf, spare } = await serveCluster(t, { spare: 1, actors: ['outbox-relay'] })
  const { superuser } = service.databases
  const owners: Client[] = []
  for (let made = 0; made < people; made++) owners.push(await service.signUp())
  const [added] = spare as [string]
  await copyDatabases(superuser, added)

  const counts = { requests: 0, retries: 0, 'tenants moved': 0 }
  const failed: unknown[] = []
  const acknowledged = new Map(owners.map((owner) => [owner, [] as string[]]))
  let moved = false
  const send = async (expected: number, ask: () => Promise<Answer>) => {
    const answer = await untilServed(ask, ({ headers }) => {
      counts.retries++
      if (!headers.get('retry-after')) failed.push('503 without Retry-After')
    })
    counts.requests++
    if (answer.status !== expected) failed.push([answer.status, answer.body])
    return answer
  }
  const load = async (owner: Client) => {
    const { email, password } = owner
    const roles = `/api/v1/tenants/${owner.tenantId}/roles/`
    for (let round = 0; !moved && round < maxRounds; round++) {
      await send(200, () => owner.get(roles))
      const made = await send(201, () => owner.post(roles, { name: `Role ${round}` }))
      acknowledged.get(owner)!.push(made.body.id)
      await send(200, () => owner.patch('/api/v1/users/me/', { first_name: `Name ${round}` }))
      await send(200, () => service.call('POST', '/api/v1/auth/login/', { body: { email, password } }))
      await sleep(250)
    }
  }
  const loads = owners.map(load)
  const before = await Promise.all(owners.map(({ tenantId }) => nodeOf(tenantId)))
  const { hostname, port } = new URL(added)
  await query(superuser, `select citus_add_node('${hostname}', ${port})`)
  await query(superuser, 'select citus_rebalance_start()')
  let state = ''
  for (let tries = 0; tries < 300 && !['finished', 'failed', 'cancelled'].includes(state); tries++) {
    await sleep(500)
    state = String((await query(superuser, 'select state from citus_rebalance_status()'))[0]?.state)
  }
  t.equal(state, 'finished')
  moved = true
  await Promise.all(loads)

  const after = await Promise.all(owners.map(({ tenantId }) => nodeOf(tenantId)))
  counts['tenants moved'] = after.filter((node, index) => node !== before[index]).length
  t.comment(counts)
  t.same(failed, [], 'no request failed beyond retries')
  const [shards] = await query(
    superuser,
    `select count(*)::int from citus_shards where nodeport = ${port} and table_name = 'roles'::regclass`,
  )
  t.ok(Number(shards!.count) > 0, 'the new node has shards')
  t.ok(counts['tenants moved'] > 0, 'tenants moved while they were served')
  const database = await openDatabase(t, service)
  for (const owner of owners) {
    const own = acknowledged.get(owner)!
    const { body } = await owner.get(`/api/v1/tenants/${owner.tenantId}/roles/?page_size=100`)
    const there = body.results.map(({ id }: { id: string }) => id)
    t.same(
      own.filter((id) => !there.includes(id)),
      [],
      `${own.length} acknowledged roles are there`,
    )
    const events = await numberedEventsOf(database, owner.tenantId)
    t.same(
      events.map(({ sequence }) => sequence),
      events.map((_, index) => index + 1),
      `${events.length} events are numbered in their order`,
    )
    const subjects = events.filter(({ type }) => type === 'tenant.role_created').map(({ subject }) => subject)
    t.same(subjects, own, 'each acknowledged role has its event, in order')
  }
})

/** Databases as on the coordinator, empty: those of tests are copies of a template, whose name Citus passes to new nodes. */
async function copyDatabases(from: string, to: string): Promise<void> {
  const rows = await query(from, "select datname as name from pg_database where datname like 'bailiwick%'")
  for (const { name } of rows) await query(to, `create database ${name}`)
  await query(Object.assign(new URL(to), { pathname: new URL(from).pathname }).href, 'create extension citus')
}
