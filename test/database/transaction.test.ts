import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { z } from 'zod'
import { flushes, openPool, type Pool } from '../../src/database/executor/pool.ts'
import {
  asSystem,
  asWorker,
  inTenant,
  isDatabaseUnavailable,
  type Scope,
  sql,
  sqlState,
  type Tx,
} from '../../src/database/executor/transaction.ts'
import { ApiError } from '../../src/errors.ts'
import { disposableDatabase, useProductionTimeouts } from '../helpers/database.ts'
import { rounds } from '../helpers/rounds.ts'

useProductionTimeouts(t)
const { urls, drop } = await disposableDatabase()
const superuser = new pg.Client({ connectionString: urls.superuser })
await superuser.connect()
const open = (role: 'api' | 'system' | 'worker', size: number, distributed = false): Pool =>
  openPool(urls[role], { size, prepared: true, distributed, applicationName: `test-${role}-${size}` })
const db = { api: open('api', 5), system: open('system', 2), worker: open('worker', 2) }
t.teardown(async () => {
  await Promise.all([db.api.end(), db.system.end(), db.worker.end()])
  await superuser.end()
  await drop()
})

const a: Scope = { tenantId: randomUUID(), userId: randomUUID() }
const b: Scope = { tenantId: randomUUID(), userId: randomUUID() }
for (const [slug, { tenantId }] of [
  ['a', a],
  ['b', b],
] as const)
  await superuser.query(
    `with t as (insert into tenants (id, name, slug, created_at, updated_at) values ($1, $2, $2, now(), now()) returning id)
     insert into roles (tenant_id, id, name, name_key, created_at, updated_at)
     select id, gen_random_uuid(), 'role ' || n, 'role ' || n, now(), now() from t, generate_series(1, 3) n`,
    [tenantId, slug],
  )

const found = z.object({ tenant_id: z.string(), backend: z.number(), scope: z.string() })
const listRoles = (tx: Tx) =>
  tx.any(sql.type(found)`
    select tenant_id, pg_backend_pid() as backend, current_setting('app.tenant_id') as scope from roles`)
const listAll = (tx: Tx) => tx.any(sql.unsafe`select * from roles`)
const newRole = ({ tenantId }: Scope, key: string = randomUUID()) => sql.unsafe`
  insert into roles (tenant_id, id, name, name_key, created_at, updated_at)
  values (${tenantId}, ${randomUUID()}, 'new', ${key}, now(), now())`
const insertRole = (tx: Tx, scope: Scope, key?: string) => tx.query(newRole(scope, key))
const laterRole = (tx: Tx, scope: Scope, key?: string) => tx.later(newRole(scope, key))
const insertInstallation = (tx: Tx) =>
  tx.query(sql.unsafe`insert into installation (id, created_at) values (${randomUUID()}, now())`)
const raise = sql.unsafe`do $$ begin raise exception 'made'; end $$`
const failToSerialize = sql.unsafe`do $$ begin raise exception 'made' using errcode = '40001'; end $$`
const countOf = async (table: string): Promise<number> =>
  (await superuser.query(`select count(*)::int as n from ${table}`)).rows[0].n
const rejection = (work: Promise<unknown>): Promise<Error & { code?: string }> =>
  work.then(
    () => Promise.reject(new Error('It was fulfilled')),
    (error) => error,
  )

const refused = () => new ApiError(409, 'refused', 'no')

/** Ways in which a transaction can end. Most succeed. */
const endings: Record<string, (tx: Tx, scope: Scope) => Promise<unknown>> = {
  well: async () => undefined,
  refused: async (tx, scope) => {
    await insertRole(tx, scope)
    throw refused()
  },
  violated: (tx, scope) => insertRole(tx, scope, 'role 1'),
  'violated at the commit': async (tx, scope) => tx.later(newRole(scope, 'role 1'), refused),
  foreign: (tx, scope) => insertRole(tx, scope === a ? b : a),
  malformed: (tx) => tx.query(sql.unsafe`select ${'x'}::uuid`),
  'timed out': async (tx) => {
    await tx.query(sql.unsafe`set local statement_timeout = 2`)
    await tx.query(sql.unsafe`select pg_sleep(1)`)
  },
  cancelled: (tx) => tx.query(sql.unsafe`select pg_cancel_backend(pg_backend_pid()), pg_sleep(1)`),
}
const bad = Object.keys(endings).filter((name) => name !== 'well')

/** Runs `count` transactions of both tenants, 20 at a time; gives the rows seen, the foreign rows, and the endings. */
async function interleave(pool: Pool, count: number) {
  const seen = { rows: 0, mixed: 0, ended: new Map<string, number>() }
  let started = 0
  const one = async (number: number) => {
    const scope = number % 2 ? a : b
    const ending = number % 5 === 0 ? bad[(number / 5) % bad.length]! : 'well'
    await inTenant({ api: pool }, scope, async (tx) => {
      const rows = await listRoles(tx)
      seen.rows += rows.length
      seen.mixed += rows.filter(
        (row) => row.tenant_id !== scope.tenantId || row.scope !== scope.tenantId,
      ).length
      await endings[ending]!(tx, scope)
    }).then(
      () => ending !== 'well' && t.fail(`${ending} ended well`),
      (error) => ending === 'well' && t.fail(error),
    )
    seen.ended.set(ending, (seen.ended.get(ending) ?? 0) + 1)
  }
  const loop = async () => {
    while (started < count) await one(started++)
  }
  await Promise.all(Array.from({ length: 20 }, loop))
  return seen
}

for (const [size, count, distributed = false] of [
  [1, rounds(400, 4_000)],
  [5, rounds(1_200, 16_000)],
  [2, rounds(400, 2_000), true],
] as const) {
  t.test(
    `${count} transactions of two tenants over a pool of ${size}${distributed ? ', as on a cluster' : ''}, a fifth failing, never mix rows`,
    async (t) => {
      const pool = open('api', size, distributed)
      const seen = await interleave(pool, count)
      t.equal(seen.mixed, 0)
      t.equal(seen.rows, 3 * count, 'each saw its three rows')
      t.equal(seen.ended.size, Object.keys(endings).length, JSON.stringify(Object.fromEntries(seen.ended)))
      t.same(await asSystem({ system: pool }, 'test', listAll), [], 'and no scope is left on a connection')
      await pool.end()
    },
  )
}

t.test('the scope of a cluster is an id, or the transaction does not begin', async (t) => {
  const api = open('api', 1, true)
  const scope = { ...a, userId: "x'; select 'y" }
  await t.rejects(inTenant({ api }, scope, listRoles), /app\.user_id is not a UUID/)
  t.equal((await inTenant({ api }, a, listRoles)).length, 3)
  await api.end()
})

t.test('rows that were not committed do not exist', async (t) => {
  t.equal(await countOf('roles'), 6)
})

t.test('1,000 failing transactions use the backends of their pool and open no new ones', async (t) => {
  const pool = open('api', 3)
  const backends = new Set<number>()
  const fail = async (number: number) => {
    const ending = ['refused', 'violated', 'foreign', 'malformed'][number % 4]!
    const error = await rejection(
      inTenant({ api: pool }, a, async (tx) => {
        for (const row of await listRoles(tx)) backends.add(row.backend)
        await endings[ending]!(tx, a)
      }),
    )
    if (ending === 'refused') t.ok(error instanceof ApiError)
  }
  for (let number = 0; number < 1_000; number += 10)
    await Promise.all(Array.from({ length: 10 }, (_, more) => fail(number + more)))
  t.ok(backends.size <= 3, `${backends.size} backends`)
  await pool.end()
})

t.test('an error of the callback is rethrown unchanged, and nothing is committed', async (t) => {
  const before = await countOf('installation')
  const error = refused()
  const thrown = await rejection(
    asSystem(db, 'test', async (tx) => {
      await insertInstallation(tx)
      throw error
    }),
  )
  t.equal(thrown, error)
  t.equal(await countOf('installation'), before)
})

t.test('a statement after the end of its transaction never runs, after a rollback or a commit', async (t) => {
  const before = await countOf('installation')
  for (const end of [() => Promise.reject(refused()), () => Promise.resolve()]) {
    let late: Promise<unknown> = Promise.resolve()
    await asSystem(db, 'test', async (tx) => {
      late = rejection(
        (async () => {
          await tx.query(sql.unsafe`select pg_sleep(0.005)`)
          for (let more = 0; more < 20; more++) await insertInstallation(tx)
        })(),
      )
      await sleep(1)
      return end()
    }).catch(() => undefined)
    t.match(await late, { message: /after the end of its transaction/ })
  }
  t.equal(await countOf('installation'), before)
})

t.test('a statement that was asked for just before the end never runs', async (t) => {
  const before = await countOf('installation')
  for (let hops = 0; hops < 6; hops++)
    for (const first of [insertInstallation, async () => undefined]) {
      const late = async (tx: Tx) => {
        for (let hop = 0; hop < hops; hop++) await undefined
        await insertInstallation(tx)
      }
      await rejection(
        asSystem(db, 'test', async (tx) => {
          await first(tx)
          await Promise.all([Promise.reject(refused()), late(tx)])
        }),
      )
    }
  t.equal(await countOf('installation'), before)
})

t.test('a transaction with a statement that is still running is not committed', async (t) => {
  const before = await countOf('installation')
  const error = await rejection(asSystem(db, 'test', async (tx) => void insertInstallation(tx)))
  t.match(error.message, /still running/)
  t.equal(await countOf('installation'), before)
})

t.test('all parallel statements end before the rollback', async (t) => {
  const before = await countOf('installation')
  for (let round = 0; round < 50; round++)
    await rejection(
      asSystem(db, 'test', (tx) =>
        Promise.all([
          tx.query(raise),
          insertInstallation(tx),
          insertInstallation(tx).then(() => insertInstallation(tx)),
          Promise.reject(refused()),
        ]),
      ),
    )
  t.equal(await countOf('installation'), before)
})

t.test(
  'a caught error of a statement fails the transaction, which Postgres would roll back silently',
  async (t) => {
    const before = await countOf('roles')
    for (const ending of ['violated', 'malformed']) {
      const error = await rejection(
        inTenant(db, a, async (tx) => {
          await insertRole(tx, a)
          await endings[ending]!(tx, a).catch(() => undefined)
          return 'done'
        }),
      )
      t.match(error.message, /went on/)
    }
    t.equal(await countOf('roles'), before)
  },
)

t.test('a serialization failure runs the callback again, in its scope, and commits once', async (t) => {
  const before = await countOf('roles')
  let runs = 0
  await inTenant(db, a, async (tx) => {
    runs++
    await insertRole(tx, a, 'again')
    t.equal((await listRoles(tx)).length, 4)
    if (runs < 3) await tx.query(failToSerialize)
  })
  t.equal(runs, 3)
  t.equal(await countOf('roles'), before + 1)
  await superuser.query("delete from roles where name_key = 'again'")
})

t.test('two transactions that deadlock both succeed', async (t) => {
  const { rows } = await superuser.query('select id from roles where tenant_id = $1 order by id limit 2', [
    a.tenantId,
  ])
  const lock = (tx: Tx, id: string) =>
    tx.query(sql.unsafe`update roles set description = description || 'x' where id = ${id}`)
  const inOrder = (first: string, second: string) =>
    inTenant(db, a, async (tx) => {
      await lock(tx, first)
      await sleep(50)
      await lock(tx, second)
    })
  await Promise.all([inOrder(rows[0].id, rows[1].id), inOrder(rows[1].id, rows[0].id)])
  const after = await superuser.query(
    'select description from roles where tenant_id = $1 order by id limit 2',
    [a.tenantId],
  )
  t.same(after.rows, [{ description: 'xx' }, { description: 'xx' }])
})

t.test(
  'a connection lost in a transaction is an error that can be retried; nothing is committed and the pool recovers',
  async (t) => {
    const before = await countOf('roles')
    const pool = open('api', 1)
    const kill = async (tx: Tx) => {
      await insertRole(tx, a)
      const [row] = await listRoles(tx)
      await superuser.query('select pg_terminate_backend($1)', [row!.backend])
    }
    const afterwards: ((tx: Tx) => Promise<unknown>)[] = [
      (tx) => insertRole(tx, a),
      async () => sleep(30),
      async () => undefined,
    ]
    for (const then of afterwards) {
      const error = await rejection(inTenant({ api: pool }, a, async (tx) => kill(tx).then(() => then(tx))))
      t.ok(isDatabaseUnavailable(error), `${error.message} ${sqlState(error)}`)
      t.equal((await inTenant({ api: pool }, b, listRoles)).length, 3)
    }
    t.equal(await countOf('roles'), before)
    await pool.end()
  },
)

t.test('statements that nothing waits for go out in order, at the latest with the commit', async (t) => {
  const sent: string[][] = []
  // A service that another file started sends statements of its own.
  const note = (message: unknown) => {
    const texts = (message as { text: string }[]).map(({ text }) => text.trim())
    if (texts.some((text) => /(from|into) roles\b/.test(text)))
      sent.push(texts.map((text) => text.split(/\s/)[0]!))
  }
  flushes.subscribe(note)
  const key = randomUUID()
  const rows = await inTenant(db, a, async (tx) => {
    laterRole(tx, a, key)
    const rows = await listRoles(tx)
    laterRole(tx, a)
    return rows
  })
  flushes.unsubscribe(note)
  t.equal(rows.length, 4, 'the earlier insert is seen')
  t.same(sent, [
    ['begin', 'select', 'insert', 'select'],
    ['insert', 'commit'],
  ])
  await superuser.query('delete from roles where tenant_id = $1 and name = $2', [a.tenantId, 'new'])
  const before = await countOf('roles')
  for (const after of [listRoles, async () => 'done'])
    t.equal(
      sqlState(
        await rejection(
          inTenant(db, a, async (tx) => {
            await insertRole(tx, a)
            laterRole(tx, a, 'role 1')
            return after(tx)
          }),
        ),
      ),
      '23505',
      'its error fails the transaction',
    )
  t.equal(await countOf('roles'), before)
})

t.test('a taken key gives the error of its own statement, and no other error does', async (t) => {
  const before = await countOf('roles')
  const other = () => new ApiError(409, 'other', 'no')
  const failing = (first: string, second: string, after: (tx: Tx) => Promise<unknown>) =>
    rejection(
      inTenant(db, a, async (tx) => {
        tx.later(newRole(a, first), refused)
        tx.later(newRole(a, second), other)
        await after(tx)
      }),
    )
  const free = randomUUID()
  for (const after of [listRoles, async () => 'done']) {
    t.equal((await failing('role 1', 'role 2', after)).code, 'refused')
    t.equal((await failing(free, 'role 2', after)).code, 'other')
    const foreign = inTenant(db, a, async (tx) => {
      tx.later(newRole(b), refused)
      await after(tx)
    })
    t.equal(sqlState(await rejection(foreign)), '42501', 'a row of another tenant is no taken key')
  }
  t.equal(await countOf('roles'), before)
})

t.test('what waits for the commit is called with it, and not at all without it', async (t) => {
  const answered: number[] = []
  const insertLast = (tx: Tx, key?: string) => {
    tx.later(newRole(a, key))
    tx.afterCommit(() => answered.push(1))
  }
  await inTenant(db, a, async (tx) => {
    insertLast(tx)
    await sleep(20)
    t.same(answered, [], 'it waits for the commit')
  })
  t.same(answered, [1])
  await superuser.query('delete from roles where tenant_id = $1 and name = $2', [a.tenantId, 'new'])
  const before = await countOf('roles')
  await rejection(inTenant(db, a, async (tx) => insertLast(tx, 'role 1')))
  await rejection(
    inTenant(db, a, async (tx) => {
      insertLast(tx)
      throw refused()
    }),
  )
  await sleep(20)
  t.same(answered, [1])
  t.equal(await countOf('roles'), before)
})

t.test('a statement behind the commit goes out with it, and its error changes nothing', async (t) => {
  const sent: string[][] = []
  const note = (message: unknown) => {
    const texts = (message as { text: string }[]).map(({ text }) => text.trim())
    if (texts.some((text) => text.includes('behind_commit')))
      sent.push(texts.map((text) => text.split(' ')[0]!))
  }
  flushes.subscribe(note)
  const before = await countOf('roles')
  await inTenant(db, a, async (tx) => {
    laterRole(tx, a, randomUUID())
    tx.afterCommit(sql.unsafe`notify behind_commit`)
    tx.afterCommit(
      sql.unsafe`select 1 / (extract(year from now()) - extract(year from now())) as behind_commit`,
    )
  })
  flushes.unsubscribe(note)
  t.same(sent, [['begin', 'select', 'insert', 'commit', 'notify', 'select']])
  t.equal(await countOf('roles'), before + 1)
  const failed = inTenant(db, a, async (tx) => {
    laterRole(tx, a, 'role 1')
    tx.afterCommit(sql.unsafe`notify behind_commit`)
  })
  t.equal(sqlState(await rejection(failed)), '23505', 'the error of the transaction does')
  t.equal(await countOf('roles'), before + 1)
  await superuser.query('delete from roles where tenant_id = $1 and name = $2', [a.tenantId, 'new'])
})

t.test('an unreachable database differs from our own faults', async (t) => {
  const away = new URL(urls.api)
  away.port = '1'
  const error = await rejection(
    inTenant(
      { api: openPool(away.href, { size: 1, prepared: true, applicationName: 'test' }) },
      a,
      listRoles,
    ),
  )
  t.ok(isDatabaseUnavailable(error), error.message)
  t.notOk(isDatabaseUnavailable(await rejection(inTenant(db, a, (tx) => endings.violated!(tx, a)))))
  t.notOk(isDatabaseUnavailable(new TypeError('x')))
})

t.test('inside a transaction, further transactions are refused', async (t) => {
  const outer = (work: () => Promise<unknown>) => rejection(inTenant(db, a, work))
  t.match(await outer(() => inTenant(db, b, listRoles)), { message: /inside another/ })
  t.match(await outer(() => asSystem(db, 'test', insertInstallation)), { message: /inside another/ })
  t.match(await outer(() => asWorker(db, insertInstallation)), { message: /inside another/ })
})

t.test('work that starts inside a transaction and continues after its end can open a new one', async (t) => {
  let later: Promise<unknown> = Promise.resolve()
  await inTenant(db, a, async () => {
    later = sleep(30).then(() => inTenant(db, b, listRoles))
  })
  t.same(
    new Set(((await later) as { tenant_id: string }[]).map((row) => row.tenant_id)),
    new Set([b.tenantId]),
  )
})

t.test('each wrapper runs as its own role', async (t) => {
  const asked = sql.type(z.object({ role: z.string() }))`select current_user::text as role`
  const ask = (tx: Tx) => tx.oneFirst(asked)
  t.equal(await inTenant(db, a, ask), 'bailiwick_api')
  t.equal(await asSystem(db, 'test', ask), 'bailiwick_system')
  t.equal(await asWorker(db, ask), 'bailiwick_worker')
})
