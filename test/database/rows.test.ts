import { randomUUID } from 'node:crypto'
import pg from 'pg'
import t from 'tap'
import { workerNodes } from '../helpers/citus.ts'
import { disposableDatabase } from '../helpers/database.ts'
import { catalogueTables, conditionOn, seedRows } from './seed-rows.ts'

// Tests row-level security only: no filters of the application, and all grants, so that nothing but a policy stops a
// statement. Tables and rows come from the catalogue, so new tables are tested automatically.

const { urls, drop } = await disposableDatabase()
const connect = async (url: string) => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}
const superuser = await connect(urls.superuser)
const api = await connect(urls.api)
t.teardown(async () => {
  await Promise.all([superuser.end(), api.end()])
  await drop()
})

const onCluster = workerNodes.length > 0
const a = { tenantId: randomUUID(), userId: randomUUID() }
const b = { tenantId: randomUUID(), userId: randomUUID() }
const nobody = { tenantId: randomUUID(), userId: randomUUID() }
const tables = await catalogueTables(superuser)
const rowsOfA = await seedRows(superuser, tables, a)
const rowsOfB = await seedRows(superuser, tables, b)
await superuser.query(
  'grant select, insert, update, delete on all tables in schema public to bailiwick_api, bailiwick_system, bailiwick_worker',
)

type Scope = { tenantId?: string; userId?: string }

/** Runs one statement in a transaction of `scope` and rolls back. An error is returned as its SQLSTATE. */
async function run(scope: Scope, sql: string, values: unknown[] = [], client = api) {
  await client.query('begin')
  try {
    // In a form that Citus takes to its nodes.
    if (scope.tenantId !== undefined)
      await client.query(`set local app.tenant_id = ${pg.escapeLiteral(scope.tenantId)}`)
    if (scope.userId !== undefined)
      await client.query(`set local app.user_id = ${pg.escapeLiteral(scope.userId)}`)
    const { rows, rowCount } = await client.query(sql, values)
    return { rows, rowCount, state: '' }
  } catch (error) {
    return { rows: [], rowCount: 0, state: (error as { code: string }).code }
  } finally {
    await client.query('rollback')
  }
}

const all = (table: string) => `select to_jsonb(t) as row from ${table} t`
const insert = (table: string) => {
  const { columns } = tables.find(({ name }) => name === table)!
  const values = columns.map((column) => `(jsonb_populate_record(null::${table}, $1)).${column}`)
  return `insert into ${table} (${columns.join(', ')}) values (${values.join(', ')})`
}

t.test('the catalogue has the tables to test', async (t) => {
  t.ok(tables.length >= 18, `${tables.length} tables`)
  t.ok(tables.filter((table) => table.scopeColumn).length >= 12)
})

/** Citus refuses any change of the column by which a table is distributed. */
const refusals = new Set(['42501', ...(onCluster ? ['0A000'] : [])])

/** A person's rows that a tenant sees, too, because it ends them. */
const endedByTenants = new Set(['oauth_models'])

/** Tables whose rows belong to no tenant: every tenant reads all of them and writes none. */
const readByAll = new Set(['manifests', 'manifest_clients', 'manifest_client_secrets', 'manifest_resources'])

for (const table of tables) {
  const { name, columns, scopeColumn } = table
  const own = rowsOfA.get(name)!
  const foreign = rowsOfB.get(name)!
  const [ownRow, foreignRow] = [conditionOn(table, own), conditionOn(table, foreign)]
  const foreignKey = scopeColumn && (foreign[scopeColumn] as string)

  t.test(`${name}: without a scope there are no rows, on a new and on a used connection`, async (t) => {
    const fresh = await connect(urls.api)
    t.same(await run({}, all(name), [], fresh), { rows: [], rowCount: 0, state: '' })
    await run(a, all(name), [], fresh)
    t.same((await fresh.query(all(name))).rows, [], 'outside a transaction')
    t.same(await run({}, all(name), [], fresh), { rows: [], rowCount: 0, state: '' })
    t.same(await run({ tenantId: '', userId: '' }, all(name), [], fresh), {
      rows: [],
      rowCount: 0,
      state: '',
    })
    await fresh.end()
  })

  t.test(`${name}: each scope sees its own rows only`, async (t) => {
    if (readByAll.has(name)) {
      t.equal((await run(nobody, all(name))).rows.length, 2)
      t.same((await run({ userId: a.userId }, all(name))).rows, [], 'without a tenant')
      return
    }
    const ownRows = scopeColumn ? [own] : []
    const foreignRows = scopeColumn ? [foreign] : []
    t.same(
      (await run(a, all(name))).rows.map((found) => found.row),
      ownRows,
    )
    t.same(
      (await run(b, all(name))).rows.map((found) => found.row),
      foreignRows,
    )
    t.same((await run(nobody, all(name))).rows, [])
    t.same((await run({ ...a, tenantId: nobody.tenantId, userId: nobody.userId }, all(name))).rows, [])
  })

  t.test(`${name}: rows of another scope cannot be written`, async (t) => {
    const others = columns.filter((column) => column !== scopeColumn).slice(0, 3)
    const statements = [
      ...others.map((column) => `update ${name} set ${column} = ${column} where ${foreignRow}`),
      `delete from ${name} where ${foreignRow}`,
      `select from ${name} where ${foreignRow} for update`,
    ]
    for (const statement of statements)
      t.match(await run(a, statement), { rowCount: 0, state: '' }, statement.slice(0, 50))
    t.equal((await run(a, insert(name), [foreign])).state, '42501')
    t.equal((await run(a, `${insert(name)} on conflict do nothing`, [foreign])).state, '42501')
    t.equal((await run({}, insert(name), [own])).state, '42501', 'without a scope')
  })

  t.test(`${name}: a row cannot be given to another scope`, async (t) => {
    if (!scopeColumn) {
      t.equal((await run(a, `update ${name} set ${columns[0]} = ${columns[0]}`)).rowCount, 0)
      return
    }
    const moved = await run(a, `update ${name} set ${scopeColumn} = $1 where ${ownRow}`, [foreignKey])
    t.ok(refusals.has(moved.state), moved.state)
    const other = columns.find((column) => column !== scopeColumn)
    const kept = await run(a, `update ${name} set ${other} = ${other} where ${ownRow}`)
    t.equal(kept.rowCount, 1, 'its own scope changes the row')
  })
}

t.test(
  "a user without a tenant sees no tenant, and a tenant without a user sees no user's own rows",
  async (t) => {
    for (const { name, scopeColumn, setting } of tables.filter(
      (table) => table.scopeColumn && table.name !== 'users' && !endedByTenants.has(table.name),
    )) {
      const half = setting === 'app.tenant_id' ? { userId: a.userId } : { tenantId: a.tenantId }
      t.same((await run(half, all(name))).rows, [], `${name} by ${scopeColumn}`)
    }
  },
)

t.test('in the scope of a tenant a person sees their own row of users, and no other', async (t) => {
  t.same((await run({ tenantId: a.tenantId }, all('users'))).rows, [], 'not that of a member')
  const seen = await run({ tenantId: a.tenantId, userId: b.userId }, all('users'))
  t.same(seen.rows, [{ row: rowsOfB.get('users') }])
  t.equal((await run({ tenantId: a.tenantId }, 'update users set first_name = $1', ['x'])).rowCount, 0)
  t.equal((await run({ tenantId: a.tenantId }, 'delete from users')).rowCount, 0)
  t.equal((await run({ userId: a.userId }, 'update users set first_name = $1', ['x'])).rowCount, 1)
})

t.test(
  'the owner sees the rows of all tenants, because a migration that changes none would not fail',
  async (t) => {
    const owner = await connect(urls.owner)
    for (const { name } of tables) t.equal((await run({}, all(name), [], owner)).rows.length, 2, name)
    await owner.end()
  },
)

for (const role of ['system', 'worker'] as const) {
  t.test(
    `bailiwick_${role} sees nothing in tables without a policy for it, even with all grants`,
    async (t) => {
      const client = await connect(urls[role])
      for (const { name, roles } of tables.filter((table) => !table.roles.includes(`bailiwick_${role}`))) {
        t.same((await run(a, all(name), [], client)).rows, [], `${name} ${roles}`)
        t.equal((await run(a, insert(name), [rowsOfB.get(name)], client)).state, '42501')
      }
      await client.end()
    },
  )
}

t.test('a scope that is not a uuid is an error, never all rows', async (t) => {
  t.equal((await run({ tenantId: "' or true --" }, all('roles'))).state, '22P02')
})

t.test('truncate, copy from, and turning row-level security off are refused', async (t) => {
  t.equal((await run(a, 'truncate roles')).state, '42501')
  t.equal((await run(a, 'alter table roles disable row level security')).state, '42501')
  t.equal((await run(a, 'set local role bailiwick_owner')).state, '42501')
  t.equal((await run(a, 'set local session_replication_role = replica')).state, '42501')
  await api.query('set row_security = off')
  t.equal((await run(a, all('roles'))).state, '42501', 'an error, not all rows')
  await api.query('reset row_security')
})

t.test('the rows of both tenants are untouched at the end', async (t) => {
  for (const { name } of tables) {
    const { rows } = await superuser.query(all(name))
    t.same(new Set(rows.map((found) => found.row)), new Set([rowsOfA.get(name), rowsOfB.get(name)]), name)
  }
})
