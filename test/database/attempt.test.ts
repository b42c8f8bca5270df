import { randomUUID } from 'node:crypto'
import pg from 'pg'
import t from 'tap'
import { openPool } from '../../src/database/executor/pool.ts'
import { inTenant, type Scope, sql, type Tx } from '../../src/database/executor/transaction.ts'
import { ApiError } from '../../src/errors.ts'
import { disposableDatabase } from '../helpers/database.ts'

const { urls, drop } = await disposableDatabase()
const superuser = new pg.Client({ connectionString: urls.superuser })
await superuser.connect()
const api = openPool(urls.api, { size: 3, prepared: true, applicationName: 'attempt' })
t.teardown(async () => {
  await api.end()
  await superuser.end()
  await drop()
})

const scope: Scope = { tenantId: randomUUID(), userId: randomUUID() }
await superuser.query(
  'insert into tenants (id, name, slug, created_at, updated_at) values ($1, $2, $2, now(), now())',
  [scope.tenantId, 'attempt'],
)
const inScope = <T>(work: (tx: Tx) => Promise<T>) => inTenant({ api }, scope, work)
const role = (key: string) => sql.unsafe`
  insert into roles (tenant_id, id, name, name_key, created_at, updated_at)
  values (${scope.tenantId}, ${randomUUID()}, ${key}, ${key}, now(), now())`
const keys = async () =>
  (await superuser.query('select name_key from roles order by name_key')).rows.map((row) => row.name_key)
const taken = () => new ApiError(409, 'name_taken', 'taken')
t.afterEach(() => superuser.query('delete from roles'))

t.test('an attempt leaves nothing, and the transaction around it goes on', async (t) => {
  await superuser.query('listen attempts')
  const told: unknown[] = []
  superuser.on('notification', (message) => told.push(message.payload))
  const value = await inScope(async (tx) => {
    tx.later(role('before'))
    const value = await tx.attempt(async (inner) => {
      await inner.query(role('asked'))
      inner.later(role('later'))
      inner.atCommit(() => inner.later(role('at the commit')))
      inner.afterCommit(sql.unsafe`select pg_notify('attempts', 'made')`)
      inner.afterCommit(() => told.push('committed'))
      return 'done'
    })
    await tx.query(role('after'))
    return value
  })
  t.equal(value, 'done')
  t.same(await keys(), ['after', 'before'])
  await superuser.query('select 1')
  t.same(told, [])
})

t.test('an attempt throws what fails its work, and what would fail its commit', async (t) => {
  const failing: Record<string, (tx: Tx) => Promise<unknown>> = {
    thrown: () => Promise.reject(taken()),
    asked: (tx) => tx.query(role('taken')),
    later: async (tx) => tx.later(role('taken'), taken),
    'at the commit': async (tx) => tx.atCommit(() => tx.later(role('taken'), taken)),
  }
  for (const [name, work] of Object.entries(failing)) {
    await inScope(async (tx) => {
      await tx.query(role('taken'))
      await t.rejects(tx.attempt(work), { code: /name_taken|23505/ }, name)
      await tx.query(role('after'))
    })
    t.same(await keys(), ['after', 'taken'], `${name}: the transaction goes on`)
    await superuser.query('delete from roles')
  }
})

t.test('a statement that comes after the end of its attempt never runs', async (t) => {
  let late: Tx | undefined
  await inScope(async (tx) => {
    await tx.attempt(async (inner) => {
      late = inner
    })
    await t.rejects(late!.query(role('late')), /after the end/)
    t.throws(() => late!.later(role('late')), /after the end/)
  })
  t.same(await keys(), [])
})

t.test('a serialization failure in an attempt runs the whole transaction again', async (t) => {
  let tries = 0
  await inScope(async (tx) => {
    tries++
    await tx.attempt((inner) =>
      tries > 1
        ? inner.query(role('again'))
        : inner.query(sql.unsafe`do $$ begin raise exception 'made' using errcode = '40001'; end $$`),
    )
    await tx.query(role('kept'))
  })
  t.equal(tries, 2)
  t.same(await keys(), ['kept'])
})
