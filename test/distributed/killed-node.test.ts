// own process: it has a cluster of its own, of which it stops a node
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import t from 'tap'
import { chooseAccount } from '../../src/development/postgres-binaries.ts'
import { findCitus, startCitusCluster } from '../../src/test-runner/citus-cluster.ts'
import type { Client } from '../helpers/service.ts'

const programs = await findCitus()
const skip = programs ? false : 'Citus is not installed'

t.test('a node that dies takes only its tenants along, and loses nothing', { skip }, async (t) => {
  const cluster = await startCitusCluster(programs!, 3)
  t.teardown(() => cluster.remove())
  const [coordinator, ...nodes] = cluster.superuserUrls as [string, string, string]
  for (const url of cluster.superuserUrls)
    await query(url, [
      'alter system set synchronous_commit = on',
      "alter system set citus.recover_2pc_interval = '1s'",
      'select pg_reload_conf()',
    ])
  Object.assign(process.env, { TEST_DATABASE_URL: coordinator, TEST_CITUS_WORKERS: nodes.join() })
  const { startService } = await import('../helpers/service.ts')
  const { useProductionTimeouts } = await import('../helpers/database.ts')
  const service = await startService(t, { workers: false })
  useProductionTimeouts(t)

  // Citus prefers the node with the lowest port for what one node does for all.
  const victim = nodes.toSorted((a, b) => Number(new URL(a).port) - Number(new URL(b).port))[0]!
  const nodeOf = async (tenantId: string): Promise<string> => {
    const [{ port }] = (await query(service.databases.superuser, [
      `select nodeport::text as port from citus_shards
       where shardid = get_shard_id_for_distribution_column('roles', '${tenantId}')`,
    ])) as [{ port: string }]
    return port
  }
  const there: Client[] = []
  const elsewhere: Client[] = []
  for (let tries = 0; tries < 20 && (there.length < 2 || elsewhere.length < 2); tries++) {
    const owner = await service.signUp()
    const isThere = (await nodeOf(owner.tenantId)) === new URL(victim).port
    const group = isThere ? there : elsewhere
    group.push(owner)
  }
  const roles = (owner: Client) => `/api/v1/tenants/${owner.tenantId}/roles/`
  const owners = [...there, ...elsewhere]
  const acknowledged: { owner: Client; name: string }[] = []
  let dead = false
  const write = async (owner: Client) => {
    for (let number = 0; !dead && number < 500; number++) {
      const name = `Role ${number}`
      const { status, body } = await owner.post(roles(owner), { name })
      if (status === 201) acknowledged.push({ owner, name })
      if (body?.code === 'limit_reached') return
    }
  }
  const writing = Promise.all(owners.map(write))
  for (let tries = 0; acknowledged.length < 20 && tries < 300; tries++) await sleep(100)

  const [{ data_directory: data }] = (await query(victim, ['show data_directory'])) as [
    { data_directory: string },
  ]
  const account = await chooseAccount()
  const control = (...words: string[]) =>
    promisify(execFile)(
      join(programs!, 'pg_ctl'),
      ['-D', data, '-w', '-l', join(data, '..', 'log'), ...words],
      {
        ...account,
        cwd: '/',
      },
    )
  await control('stop', '-m', 'immediate')
  dead = true
  await writing
  t.ok(acknowledged.length >= 20, `${acknowledged.length} writes were acknowledged`)

  await t.test('its tenants get 503 within 5 s, the others are served', async (t) => {
    for (const owner of there) {
      const begun = performance.now()
      const { status } = await owner.get(roles(owner))
      t.equal(status, 503)
      t.ok(performance.now() - begun < 5_000, `${Math.round(performance.now() - begun)} ms`)
    }
    for (const owner of elsewhere) {
      t.equal((await owner.get(roles(owner))).status, 200)
      const question = {
        subject: { type: 'user', id: owner.id },
        action: { name: 'role:list' },
        resource: { type: 'tenant', id: owner.tenantId },
      }
      t.match(await owner.post('/access/v1/evaluation', question), {
        status: 200,
        body: { decision: Boolean },
      })
    }
  })

  await t.test('people whose tenants are on other nodes sign in', async (t) => {
    for (const owner of elsewhere) {
      const again = await service.logIn(owner)
      t.match(await again.get('/api/v1/users/me/'), {
        status: 200,
        body: { memberships: [{ tenant: { id: owner.tenantId }, roles: ['owner'] }] },
      })
      t.match(await again.get('/api/v1/tenants/'), {
        status: 200,
        body: { count: 1, results: [{ id: owner.tenantId, my_roles: ['owner'], member_count: 1 }] },
      })
      const refreshed = await service.call('POST', '/api/v1/auth/refresh/', {
        body: { refresh: again.refresh },
      })
      t.equal(refreshed.status, 200)
      await again.switchTo(owner.tenantId)
    }
    const { email, password } = there[0]!
    const { status } = await service.call('POST', '/api/v1/auth/login/', { body: { email, password } })
    t.equal(status, 503, 'a person with a tenant on the dead node waits for it')
  })

  await t.test('after its return, what was acknowledged is there, and all are served', async (t) => {
    await control('start')
    for (const owner of owners) {
      const names = await untilServed(() => allNames(owner, roles(owner)))
      const own = acknowledged.filter((one) => one.owner === owner)
      t.same(
        own.filter(({ name }) => !names.includes(name)),
        [],
        `${own.length} roles`,
      )
      const { status } = await untilServed(() => owner.patch(`/api/v1/users/me/`, { first_name: 'Back' }))
      t.equal(status, 200)
    }
  })
})

async function allNames(owner: Client, path: string): Promise<string[]> {
  const names: string[] = []
  for (let next: string | null = `${path}?limit=100`; next; ) {
    const { status, body } = await owner.get(next)
    if (status !== 200) throw new Error(`${status}`)
    names.push(...body.results.map((role: { name: string }) => role.name))
    next = body.next && new URL(body.next).pathname + new URL(body.next).search
  }
  return names
}

/** The first answer that is no 503, of at most 20. */
async function untilServed<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    const answer = await ask().catch((error: Error) => ({ status: Number(error.message) }) as T)
    const { status } = answer as { status?: number }
    if (status !== 503 || tries === 20) return answer
    await sleep(250)
  }
}

async function query(url: string, statements: readonly string[]): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    let rows: unknown[] = []
    for (const statement of statements) rows = (await client.query(statement)).rows
    return rows
  } finally {
    await client.end()
  }
}
