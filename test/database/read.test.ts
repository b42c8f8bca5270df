import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { QuerySqlToken } from 'slonik'
import t from 'tap'
import { z } from 'zod'
import { atOnce } from '../../src/database/executor/batch.ts'
import { flushes, openPool, type Pool } from '../../src/database/executor/pool.ts'
import { type Read, readAsSystem, readInTenant } from '../../src/database/executor/read.ts'
import {
  inTenant,
  isDatabaseUnavailable,
  type Scope,
  sql,
  sqlState,
} from '../../src/database/executor/transaction.ts'
import { disposableDatabase, useProductionTimeouts } from '../helpers/database.ts'
import { rounds } from '../helpers/rounds.ts'

useProductionTimeouts(t)
const { urls, drop } = await disposableDatabase()
const superuser = new pg.Client({ connectionString: urls.superuser })
await superuser.connect()
const pools: { end(): Promise<void> }[] = []
const open = (
  size: number,
  prepared = true,
  { role = 'api', distributed = false }: { role?: 'api' | 'system'; distributed?: boolean } = {},
): Pool => {
  const pool = openPool(urls[role], { size, prepared, distributed, applicationName: `test-reads-${role}` })
  pools.push(pool)
  return pool
}
t.teardown(async () => {
  await Promise.all(pools.map((pool) => pool.end()))
  await superuser.end()
  await drop()
})

const a: Scope = { tenantId: randomUUID(), userId: randomUUID() }
const b: Scope = { tenantId: randomUUID(), userId: randomUUID() }
for (const [slug, { tenantId }] of Object.entries({ a, b }))
  await superuser.query(
    `with t as (insert into tenants (id, name, slug, created_at, updated_at) values ($1, $2, $2, now(), now()) returning id)
     insert into roles (tenant_id, id, name, name_key, created_at, updated_at)
     select id, gen_random_uuid(), 'role ' || n, 'role ' || n, now(), now() from t, generate_series(1, 3) n`,
    [tenantId, slug],
  )

const found = z.object({ tenant_id: z.string(), backend: z.number(), scope: z.string(), person: z.string() })
const listRoles = (read: Read) =>
  read.any(sql.type(found)`
    select tenant_id, pg_backend_pid() as backend, current_setting('app.tenant_id') as scope,
           current_setting('app.user_id') as person from roles`)
const unscoped = <T extends QuerySqlToken['parser']>(pool: Pool, token: QuerySqlToken<T>) =>
  readAsSystem({ system: pool }, 'test', (read) => read.any(token))
const rejection = (work: Promise<unknown>): Promise<Error & { code?: string }> =>
  work.then(
    () => Promise.reject(new Error('It was fulfilled')),
    (error) => error,
  )
const countOf = async (table: string): Promise<number> =>
  (await superuser.query(`select count(*)::int as n from ${table}`)).rows[0].n

/** Ways in which a read can fail. The last ones also lose the connection. */
const endings: Record<string, (read: Read, scope: Scope) => Promise<unknown>> = {
  malformed: (read) => read.any(sql.unsafe`select ${'x'}::uuid`),
  'divided by zero': (read) => read.any(sql.unsafe`select tenant_id, 1 / (length(name) - 6) from roles`),
  unknown: (read) => read.any(sql.unsafe`select * from no_such_table`),
  written: (read, { tenantId }) =>
    read.any(sql.unsafe`
      insert into roles (tenant_id, id, name, name_key, created_at, updated_at)
      values (${tenantId}, ${randomUUID()}, 'new', ${randomUUID()}, now(), now()) returning id`),
  'of another shape': (read) => read.any(sql.type(z.object({ n: z.string() }))`select 1 as n`),
  'too many': (read) => read.maybeOne(sql.unsafe`select 1 from roles`),
  cancelled: (read) => read.any(sql.unsafe`select pg_cancel_backend(pg_backend_pid()), pg_sleep(1)`),
  killed: (read) => read.any(sql.unsafe`select pg_terminate_backend(pg_backend_pid()), pg_sleep(1)`),
}
const bad = Object.keys(endings)

type Reading = typeof readInTenant

/** As readInTenant, on a connection that is shared with other reads. */
const readShared: Reading = ({ api }, scope, work) => atOnce(api, { scope, by: 'readShared' }, work)

/** Runs `count` reads of both tenants, 20 at a time. A fifth fails; one in `kills` of these loses its connection. */
async function interleave(pool: Pool, count: number, kills = 20, reading: Reading = readInTenant) {
  const seen = { rows: 0, well: 0, mixed: 0, ended: new Set<string>() }
  const db = { api: pool }
  let started = 0
  const fail = async (number: number, scope: Scope) => {
    const ending = number % kills === 0 ? 'killed' : bad[number % (bad.length - 1)]!
    seen.ended.add(ending)
    await rejection(reading(db, scope, (read) => endings[ending]!(read, scope)))
  }
  const one = async (number: number) => {
    const scope = number % 2 ? a : b
    if (number % 5 === 0) return fail(number / 5, scope)
    const rows = await reading(db, scope, listRoles)
    seen.well++
    seen.rows += rows.length
    seen.mixed += rows.filter(
      (row) =>
        row.tenant_id !== scope.tenantId || row.scope !== scope.tenantId || row.person !== scope.userId,
    ).length
  }
  const loop = async () => {
    while (started < count) await one(started++)
  }
  await Promise.all(Array.from({ length: 20 }, loop))
  return seen
}

for (const [size, count, prepared, reading, distributed = false] of [
  [1, rounds(400, 4_000), true, readInTenant],
  [5, rounds(1_200, 16_000), true, readInTenant],
  [2, rounds(400, 2_000), false, readInTenant],
  [2, rounds(1_000, 16_000), true, readShared],
  [2, rounds(400, 2_000), false, readShared],
  [2, rounds(400, 2_000), true, readShared, true],
] as const)
  t.test(
    `${count} reads of two tenants over a pool of ${size}, ${reading === readShared ? 'shared' : 'alone'}, names ${prepared ? 'on' : 'off'}${distributed ? ', as on a cluster' : ''}, a fifth failing, never mix rows`,
    async (t) => {
      const pool = open(size, prepared, { distributed })
      const seen = await interleave(pool, count, 20, reading)
      t.equal(seen.mixed, 0)
      t.equal(seen.rows, 3 * seen.well, 'each saw its three rows')
      t.equal(seen.ended.size, bad.length, [...seen.ended].join(', '))
      for (let more = 0; more < 10; more++) {
        t.same(await unscoped(pool, sql.unsafe`select * from roles`), [], 'no scope is left on a connection')
        const [row] = await unscoped(
          pool,
          sql.unsafe`select current_setting('app.tenant_id', true) as left, current_setting('transaction_read_only') as reading`,
        )
        t.match(row, { left: /^$/, reading: 'on' })
      }
    },
  )

t.test('nothing was written', async (t) => {
  t.equal(await countOf('roles'), 6)
})

t.test('1,000 failing reads use the backends of their pool and open no new ones', async (t) => {
  const pool = open(3)
  const backends = new Set<number>()
  const kinds = bad.filter((kind) => kind !== 'killed')
  const one = async (number: number) => {
    await rejection(
      readInTenant({ api: pool }, a, (read) => endings[kinds[number % kinds.length]!]!(read, a)),
    )
    for (const row of await readInTenant({ api: pool }, a, listRoles)) backends.add(row.backend)
  }
  for (let number = 0; number < 1_000; number += 10)
    await Promise.all(Array.from({ length: 10 }, (_, more) => one(number + more)))
  t.ok(backends.size <= 3, `${backends.size} backends`)
})

t.test(
  'reads of one turn of the event loop share a connection; where one loses it, the others answer',
  async (t) => {
    const pool = open(3)
    const reads = (count: number) =>
      Array.from({ length: count }, () => readShared({ api: pool }, a, listRoles))
    await Promise.all(reads(2)) // parses
    const backends = (await Promise.all(reads(20))).flat().map(({ backend }) => backend)
    t.equal(new Set(backends).size, 1)
    const [before, killed, after] = await Promise.all([
      Promise.all(reads(5)),
      rejection(readShared({ api: pool }, a, (read) => endings.killed!(read, a))),
      Promise.all(reads(5)),
    ])
    t.same([before.flat().length, after.flat().length], [15, 15])
    t.ok(isDatabaseUnavailable(killed), String(killed))
  },
)

t.test('full groups of reads leave nothing behind that ends a later connection', async (t) => {
  const pool = open(1)
  const rows = await Promise.all(Array.from({ length: 64 }, () => readShared({ api: pool }, a, listRoles)))
  t.equal(rows.flat().length, 64 * 3)
  // Longer than a read may take.
  await inTenant({ api: pool }, a, (tx) => tx.any(sql.unsafe`select pg_sleep(2.2)`))
})

t.test('a pool never opens more connections than its size, however many reads wait', async (t) => {
  const pool = open(2)
  const pid = sql.type(z.object({ pid: z.number() }))`select pg_backend_pid() as pid, pg_sleep(0.02)`
  const rows = await Promise.all(Array.from({ length: 40 }, () => unscoped(pool, pid)))
  t.equal(new Set(rows.map(([row]) => row?.pid)).size, 2)
})

t.test('a statement that Postgres could not parse is parsed again at the next read', async (t) => {
  const read = (text: string) =>
    readInTenant({ api: pool }, a, (on) =>
      on.any(sql.type(z.object({ n: z.int() }))`select n from soon where n::text = ${text}`),
    )
  const pool = open(1)
  t.equal(sqlState(await rejection(read('7'))), '42P01')
  await superuser.query(
    'create table soon (n int); insert into soon values (7); grant select on soon to bailiwick_api',
  )
  t.same(await read('7'), [{ n: 7 }])
  t.same(await read('8'), [])
  await superuser.query('drop table soon')
  t.equal(sqlState(await rejection(read('7'))), '42P01')
})

t.test('a statement that was parsed but not run is known, also without its columns', async (t) => {
  const pool = open(1)
  const read = (scope: Scope, id: string) =>
    readInTenant({ api: pool }, scope, (on) =>
      on.any(sql.type(z.object({ name: z.string() }))`select name from tenants where id = ${id}`),
    )
  t.match(await rejection(read(a, 'x')), { code: '22P02' }, 'its value is refused after its text was parsed')
  t.same(await read(a, a.tenantId), [{ name: 'a' }])
  t.same(await read(a, b.tenantId), [])
  const fresh = open(1)
  const later = (scope: Scope) =>
    readInTenant({ api: fresh }, scope, (on) => on.any(sql.unsafe`select name from tenants`))
  t.equal(
    sqlState(await rejection(later({ ...a, tenantId: 'a\0b' }))),
    '22021',
    'refused before the text was parsed',
  )
  t.same(await later(a), [{ name: 'a' }])
  t.same(await later(b), [{ name: 'b' }])
})

t.test('a statement whose columns changed fails once, not until the connection ends', async (t) => {
  await superuser.query(
    'create table shifting (n int); insert into shifting values (1); grant select on shifting to bailiwick_api',
  )
  const pool = open(1)
  const read = () => readInTenant({ api: pool }, a, (on) => on.any(sql.unsafe`select n from shifting`))
  t.same(await read(), [{ n: 1 }])
  await superuser.query('alter table shifting alter n type text')
  t.equal(sqlState(await rejection(read())), '0A000')
  t.same(await read(), [{ n: '1' }])
  await superuser.query('drop table shifting')
})

t.test('values are sent and read as in a transaction', async (t) => {
  const api = await openPool(urls.api, { size: 1, prepared: true, applicationName: 'test' })
  pools.push({ end: () => api.end() })
  const texts = ['', 'NULL', 'a"b', 'back\\slash', '{x,y}', ' ', 'ü', null]
  const ask = (read: Read) =>
    read.any(sql.unsafe`
      select ${'text'}::text as text, ${null}::text as nothing, ${7}::int as whole, ${0.25}::float8 as part, ${true}::boolean as yes,
             ${9_007_199_254_740_991}::bigint as big, ${sql.timestamp(new Date('2026-11-21T12:00:00.123Z'))} as at,
             ${sql.array(texts, 'text')} as texts, ${sql.array([1, 2], 'int4')} as numbers,
             ${sql.binary(Buffer.from([0, 1, 255]))}::bytea as bytes, ${randomUUID()}::uuid is null as id,
             ${sql.jsonb({ a: [1, 'x'] })} as json, date '2026-01-02' as day, 1.50::numeric as exact,
             interval '90 seconds' as span, array[to_timestamp(1.5), null] as moments, array[9007199254740991] as bigs, ${sql.array([a.tenantId], 'uuid')} as ids
      from generate_series(1, 2)`)
  const [read, transacted] = [
    await readInTenant({ api: open(1) }, a, ask),
    await inTenant({ api }, a, (tx) => ask(tx)),
  ]
  t.equal(read.length, 2)
  t.match(read, [{ texts, moments: [1500, null], bigs: [9_007_199_254_740_991] }, { texts }])
  t.strictSame(JSON.parse(JSON.stringify(read)), JSON.parse(JSON.stringify(transacted)))
})

t.test(
  'statements that are asked for together share a round trip, a snapshot of errors, and their scope',
  async (t) => {
    const pool = open(1)
    const sent: number[] = []
    // A service that another file started sends statements of its own.
    const count = (message: unknown) => {
      const statements = message as { text: string }[]
      if (statements.some(({ text }) => /from roles$|select name from tenants/.test(text.trim())))
        sent.push(statements.length)
    }
    flushes.subscribe(count)
    const [roles, tenants] = await readInTenant({ api: pool }, a, (read) =>
      Promise.all([
        listRoles(read),
        read.anyFirst(sql.type(z.object({ name: z.string() }))`select name from tenants`),
      ]),
    )
    t.same(
      roles.map((row) => row.tenant_id),
      [a.tenantId, a.tenantId, a.tenantId],
    )
    t.same(tenants, ['a'])
    t.same(sent, [3], 'scope and read only, two statements')
    flushes.unsubscribe(count)
    const settled = await readInTenant({ api: pool }, b, (read) =>
      Promise.allSettled([listRoles(read), endings.malformed!(read, b), listRoles(read)]),
    )
    t.same(
      settled.map(({ status }) => status),
      ['rejected', 'rejected', 'rejected'],
    )
  },
)

t.test('a read asks for all its statements at once and runs outside transactions', async (t) => {
  const pool = open(1)
  const twice = async (read: Read) => {
    await listRoles(read)
    await listRoles(read)
  }
  t.match(await rejection(readInTenant({ api: pool }, a, twice)), { message: /all its statements at once/ })
  const api = await openPool(urls.api, { size: 1, prepared: true, applicationName: 'test' })
  pools.push({ end: () => api.end() })
  t.match(await rejection(inTenant({ api }, a, () => readInTenant({ api: pool }, b, listRoles))), {
    message: /inside another/,
  })
})

t.test(
  'a lost connection, a Postgres that does not answer and an unreachable one differ from our own faults',
  async (t) => {
    const pool = open(1)
    const lost = await rejection(readInTenant({ api: pool }, a, (read) => endings.killed!(read, a)))
    t.ok(isDatabaseUnavailable(lost), `${lost.message} ${sqlState(lost)}`)
    t.equal((await readInTenant({ api: pool }, b, listRoles)).length, 3, 'and the pool recovers')

    const begun = performance.now()
    const sleeping = readInTenant({ api: pool }, a, (read) => read.any(sql.unsafe`select pg_sleep(20)`))
    const [silent, queued] = await Promise.all([
      rejection(sleeping),
      readInTenant({ api: pool }, b, listRoles).catch((error) => error),
    ])
    t.ok(isDatabaseUnavailable(silent), `${silent.message} ${sqlState(silent)}`)
    t.ok(
      Array.isArray(queued) || isDatabaseUnavailable(queued),
      'a read that waited for the statement is served, or fails with the same code',
    )
    t.ok(performance.now() - begun < 19_000, 'before the statement would have ended')
    t.equal((await readInTenant({ api: pool }, b, listRoles)).length, 3)

    const away = new URL(urls.api)
    away.port = '1'
    const nowhere = openPool(away.href, { size: 1, prepared: true, applicationName: 'test' })
    t.ok(isDatabaseUnavailable(await rejection(readInTenant({ api: nowhere }, a, listRoles))))
    t.notOk(
      isDatabaseUnavailable(
        await rejection(readInTenant({ api: pool }, a, (read) => endings.malformed!(read, a))),
      ),
    )
  },
)

t.test('each wrapper runs as its own role', async (t) => {
  const asked = sql.type(z.object({ role: z.string() }))`select current_user::text as role`
  const ask = (read: Read) => read.maybeOne(asked)
  t.same(await readInTenant({ api: open(1) }, a, ask), { role: 'bailiwick_api' })
  t.same(await readAsSystem({ system: open(1, true, { role: 'system' }) }, 'test', ask), {
    role: 'bailiwick_system',
  })
})

for (const [way, list] of Object.entries({
  'a read': (pool: Pool, token: ReturnType<typeof sql.unsafe>) =>
    readInTenant({ api: pool }, a, (read) => read.any(token)),
  'a transaction': async (_pool: Pool, token: ReturnType<typeof sql.unsafe>) => {
    const api = await openPool(urls.api, { size: 1, prepared: true, applicationName: 'test-deadlock' })
    return inTenant({ api }, a, (tx) => tx.any(token)).finally(() => api.end())
  },
}))
  t.test(`${way} that a deadlock with a migration ends is repeated`, async (t) => {
    const migration = new pg.Client({ connectionString: urls.superuser })
    await migration.connect()
    await migration.query("begin; set local deadlock_timeout = '1min'; lock table roles")
    const names = sql.unsafe`select r.name from departments d right join roles r on r.tenant_id = d.tenant_id`
    const reading = list(open(1), names)
    const blocked = "select from pg_locks where not granted and relation = 'roles'::regclass"
    while ((await superuser.query(blocked)).rowCount === 0);
    await migration.query('lock table departments') // granted once the read is ended
    await migration.query('commit')
    await migration.end()
    t.equal((await reading).length, 3)
  })
