import { randomUUID } from 'node:crypto'
import pg from 'pg'
import t from 'tap'
import { disposableDatabase } from '../helpers/database.ts'

// Postgres checks keys without row-level security, so keys could reveal hidden rows or refer to them. This file tests
// some tables of this schema; the catalogue check covers all tables.

const { urls, drop } = await disposableDatabase()
const superuser = new pg.Client({ connectionString: urls.superuser })
const api = new pg.Client({ connectionString: urls.api })
await Promise.all([superuser.connect(), api.connect()])
t.teardown(async () => {
  await Promise.all([superuser.end(), api.end()])
  await drop()
})

const newTenant = () => ({
  id: randomUUID(),
  user: randomUUID(),
  role: randomUUID(),
  department: randomUUID(),
  membership: randomUUID(),
})
const a = newTenant()
const b = newTenant()
for (const { id, user, role, department, membership } of [a, b])
  await superuser.query(`
    insert into tenants (id, name, slug, created_at, updated_at) values ('${id}', 'x', '${id}', now(), now());
    insert into users (id, email, password_hash, date_joined, updated_at)
      values ('${user}', '${user}@example.test', '', now(), now());
    insert into roles (tenant_id, id, name, name_key, created_at, updated_at)
      values ('${id}', '${role}', 'Auditor', 'auditor', now(), now());
    insert into departments (tenant_id, id, name, created_at, updated_at)
      values ('${id}', '${department}', 'Sales', now(), now());
    insert into memberships (tenant_id, id, user_id, email, is_active, date_joined, person_version, joined_at, updated_at)
      values ('${id}', '${membership}', '${user}', '${user}@example.test', true, now(), 1, now(), now())`)

/** Runs a statement for a tenant and rolls back; gives the number of changed rows, or the SQLSTATE. */
async function run(tenant: { id: string }, sql: string, values: unknown[]): Promise<number | string> {
  await api.query('begin')
  try {
    await api.query("select set_config('app.tenant_id', $1, true)", [tenant.id])
    return (await api.query(sql, values)).rowCount ?? 0
  } catch (error) {
    return (error as { code: string }).code
  } finally {
    await api.query('rollback')
  }
}

const assign = 'insert into membership_roles (tenant_id, membership_id, role_id) values ($1, $2, $3)'
const insertDepartment =
  "insert into departments (tenant_id, id, name, parent_id, created_at, updated_at) values ($1, $2, 'x', $3, now(), now())"
const insertRole =
  "insert into roles (tenant_id, id, name, name_key, created_at, updated_at) values ($1, $2, 'x', $3, now(), now())"

t.test('a row cannot refer to a row of another tenant', async (t) => {
  t.equal(await run(a, assign, [a.id, a.membership, a.role]), 1)
  t.equal(await run(a, assign, [a.id, a.membership, b.role]), '23503')
  t.equal(await run(a, assign, [a.id, b.membership, a.role]), '23503')
  t.equal(await run(a, insertDepartment, [a.id, randomUUID(), a.department]), 1)
  t.equal(await run(a, insertDepartment, [a.id, randomUUID(), b.department]), '23503')
  t.equal(await run(a, 'update memberships set department_id = $1', [b.department]), '23503')
})

t.test('a reference in another tenant does not prevent a tenant from deleting its row', async (t) => {
  await superuser.query(assign, [a.id, a.membership, a.role])
  t.equal(await run(b, 'delete from roles where id = $1', [b.role]), 1)
  t.equal(await run(b, 'delete from roles where id = $1', [a.role]), 0)
  t.equal(
    await run(a, 'delete from roles where id = $1', [a.role]),
    '23503',
    'a reference in the same tenant does',
  )
})

t.test('a name or an id that another tenant uses is free', async (t) => {
  t.equal(await run(a, insertRole, [a.id, randomUUID(), 'of-b-alone']), 1)
  await superuser.query(insertRole, [b.id, randomUUID(), 'of-b-alone'])
  t.equal(await run(a, insertRole, [a.id, b.role, 'of-b-alone']), 1)
  t.equal(
    await run(a, insertRole, [a.id, randomUUID(), 'auditor']),
    '23505',
    'a name that the tenant itself uses is not',
  )
})

t.test('a tenant reads its own counts of rows alone', async (t) => {
  await superuser.query(
    `insert into row_counts (tenant_id, relation, rows) values ('${a.id}', 'roles', 1), ('${b.id}', 'roles', 1)`,
  )
  const count = "select rows::int from row_counts where relation = 'roles'"
  t.equal(await run(a, `${count} and tenant_id <> $1`, [a.id]), 0)
  t.equal(await run(a, `${count} and tenant_id = $1`, [a.id]), 1)
})
