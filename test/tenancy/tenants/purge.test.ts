import { randomBytes, randomUUID } from 'node:crypto'
import pg from 'pg'
import t, { type Test } from 'tap'
import { asWorker } from '../../../src/database/executor/transaction.ts'
import { deleteTenantRows, listTenantTables } from '../../../src/database/isolation/tenant-tables.ts'
import { createLogger } from '../../../src/observe/log.ts'
import { readConfig } from '../../../src/settings/config.ts'
import { tryPurgeLock } from '../../../src/tenancy/tenants/store.ts'
import { openWorkerDeps } from '../../../workers/deps.ts'
import { purgeDeletedTenants } from '../../../workers/tenant-purge.ts'
import { catalogueTables, seedRows } from '../../database/seed-rows.ts'
import { type DatabaseUrls, disposableDatabase } from '../../helpers/database.ts'
import { untilLocked } from '../../helpers/lock-waits.ts'
import { startService } from '../../helpers/service.ts'
import { expect, foundFirm, look } from '../staff.ts'

const day = 86_400_000
const SECRET_KEYS = randomBytes(32).toString('base64url')

async function workerOf(t: Test, urls: DatabaseUrls, clock: () => number) {
  const settings = { DATABASE_WORKER_URL: urls.worker, SECRET_KEYS }
  const config = readConfig({ NODE_ENV: 'test', LOG_LEVEL: 'silent', ...settings })
  const deps = await openWorkerDeps(config, createLogger('silent', false), clock)
  t.teardown(() => deps.close())
  return deps
}

t.test('thirty days after its deletion no row of a tenant is left, but its people remain', async (t) => {
  const service = await startService(t, { env: { SECRET_KEYS } })
  const { owner, path, id, hire, role } = await foundFirm(service)
  const clerk = await hire('member', await role('document:read'))
  let parent: string | null = null
  for (let n = 0; n < 20; n++) {
    const department = await expect(
      201,
      owner.post(`${path}/departments/`, { name: `Level ${n}`, parent_id: parent }),
    )
    parent = department.id
  }
  const [top] = (await expect(200, owner.get(`${path}/departments/`))).results
  // Two members who are each other's manager.
  const chief = { department_id: parent, manager_id: owner.id }
  await expect(200, owner.put(`${path}/members/${clerk.memberId}/`, chief))
  const own = (await expect(200, owner.get(`${path}/members/?user_id=${owner.id}`))).results[0]
  await expect(200, owner.patch(`${path}/members/${own.id}/`, { manager_id: clerk.id }))
  const only = await service.signUp()
  const [{ tenant_id: home }] = await look(service, 'select tenant_id from sessions where user_id = $1', [
    only.id,
  ])
  await expect(201, owner.post(`${path}/members/`, { user_id: only.id }))
  await expect(204, only.delete(`/api/v1/tenants/${home}/`))
  const other = await foundFirm(service)
  const rows = () =>
    look(service, 'select count(*)::int as n from memberships where tenant_id = $1', [other.id])
  const before = await rows()
  await expect(204, owner.delete(`${path}/`))

  const worker = await workerOf(t, service.databases, service.now)
  service.advance(30 * day - 1000)
  t.same(await purgeDeletedTenants(worker), [], 'one second earlier it is kept')
  service.advance(2000)
  await expect(204, (await service.logIn(other.owner)).delete(`${other.path}/`))
  t.same((await purgeDeletedTenants(worker, { batch: 7 })).sort(), [home, id].sort())
  t.same(await purgeDeletedTenants(worker), [])
  t.same(await look(service, 'select id from departments where id = any ($1)', [[top.id, parent]]), [])
  t.same(await rows(), before, 'a tenant that was deleted later is still there')
  t.same(await look(service, 'select count(*)::int as n from users'), [{ n: 4 }])
  t.not(
    (await service.logIn(only)).tenantId,
    home,
    'a person without memberships logs in to a personal tenant',
  )
})

t.test('no table with a tenant_id keeps a row of an erased tenant, or loses one of another', async (t) => {
  const { urls, drop } = await disposableDatabase()
  const client = new pg.Client({ connectionString: urls.superuser })
  await client.connect()
  const now = Date.parse('2026-11-21T12:00:00Z')
  // Before the rows exist: a worker refuses to start when its keys open none of the sealed values.
  const worker = await workerOf(t, urls, () => now)
  const tables = await catalogueTables(client)
  const [gone, fresh, alive] = [randomUUID(), randomUUID(), randomUUID()]
  for (const tenantId of [gone, fresh, alive])
    await seedRows(client, tables, { tenantId, userId: randomUUID() })
  const deleted = (days: number) => new Date(now - days * day)
  await client.query(
    'update tenants set deleted_at = case id when $1 then $3::timestamptz when $2 then $4 end',
    [gone, fresh, deleted(31), deleted(29)],
  )
  t.teardown(async () => {
    await client.end()
    await drop()
  })

  const roles = (await asWorker(worker.db, listTenantTables)).find(({ name }) => name === 'roles')!
  for (const tenantId of [alive, gone])
    t.equal(
      await asWorker(worker.db, (tx) => deleteTenantRows(tx, roles, tenantId, 10)),
      0,
      'not locked for a purge',
    )
  const lockedRows = (tenantId: string, other: string) =>
    asWorker(worker.db, async (tx) => [
      await tryPurgeLock(tx, tenantId),
      await deleteTenantRows(tx, roles, other, 10),
    ])
  t.same(await lockedRows(alive, alive), [false, 0], 'a tenant that is not deleted cannot be purged')
  t.same(await lockedRows(gone, alive), [true, 0], 'nor in the purge of another one')

  const both = await Promise.all([purgeDeletedTenants(worker), purgeDeletedTenants(worker)])
  t.same([...new Set(both.flat())], [gone], 'also with two processes at once')
  const { rows: withTenant } = await client.query(
    `select table_name as name from information_schema.columns where column_name = 'tenant_id' and table_schema = 'public'`,
  )
  t.ok(withTenant.length >= 13, `${withTenant.length} tables`)
  for (const { name } of withTenant) {
    const { rows } = await client.query(`select distinct tenant_id from ${name} order by 1`)
    t.same(
      rows.map((row) => row.tenant_id),
      [fresh, alive].sort(),
      name,
    )
  }
  t.equal((await client.query('select from tenants')).rowCount, 2)
  t.equal((await client.query('select from users')).rowCount, 3)
})

t.test('a row that is written while its tenant is erased goes with it', async (t) => {
  const { urls, drop } = await disposableDatabase()
  const late = new pg.Client({ connectionString: urls.superuser })
  await late.connect()
  t.teardown(async () => {
    await late.end()
    await drop()
  })
  // Before the rows exist: a worker refuses to start when its keys open none of the sealed values.
  const worker = await workerOf(t, urls, Date.now)
  const gone = randomUUID()
  await seedRows(late, await catalogueTables(late), { tenantId: gone, userId: randomUUID() })
  await late.query('update tenants set deleted_at = $1', [new Date(Date.now() - 31 * day)])
  await late.query('delete from daily_counts')
  await late.query('begin')
  await late.query(
    `insert into daily_counts (tenant_id, kind, day, used) values ($1, 'decisions', now(), 1)`,
    [gone],
  )
  const erased = purgeDeletedTenants(worker)
  await untilLocked(urls.superuser, [erased])
  await late.query('commit')
  t.same(await erased, [gone])
  t.equal((await late.query('select from daily_counts')).rowCount, 0)
})

t.test(
  'the worker cannot delete members, roles or departments of an existing tenant, and reads only keys',
  async (t) => {
    const { urls, drop } = await disposableDatabase()
    const superuser = new pg.Client({ connectionString: urls.superuser })
    const worker = new pg.Client({ connectionString: urls.worker })
    await Promise.all([superuser.connect(), worker.connect()])
    t.teardown(async () => {
      await Promise.all([superuser.end(), worker.end()])
      await drop()
    })
    const tables = await catalogueTables(superuser)
    await seedRows(superuser, tables, { tenantId: randomUUID(), userId: randomUUID() })
    await superuser.query('update tenants set deleted_at = null')
    for (const name of ['tenants', 'roles', 'departments', 'memberships', 'membership_roles'])
      t.equal((await worker.query(`delete from ${name}`)).rowCount, 0, name)
    await t.rejects(worker.query('select jti_hash from refresh_families'), { code: '42501' })
    await t.rejects(worker.query('select email from memberships'), { code: '42501' })
  },
)
