import { pino } from 'pino'
import t from 'tap'
import { openConnections } from '../../src/database/executor/open-connections.ts'
import { openPool } from '../../src/database/executor/pool.ts'
import { disposableDatabase } from '../helpers/database.ts'
import { productionSettings, startProcess } from '../helpers/production.ts'
import { query } from '../helpers/query.ts'

t.test('all connections of a pool are opened, or a warning says why not', async (t) => {
  const { urls, drop } = await disposableDatabase()
  const pool = openPool(urls.api, { size: 3, prepared: true, applicationName: 'test' })
  t.teardown(async () => {
    await pool.end()
    await drop()
  })
  const lines: string[] = []
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(line) })
  const limit = (most: number) =>
    query(urls.superuser, `alter database ${new URL(urls.api).pathname.slice(1)} connection limit ${most}`)
  await limit(2)
  await openConnections(pool, 3, log)
  t.equal(pool.load().idle, 2)
  t.match(
    lines.map((line) => JSON.parse(line)),
    [{ level: 40, msg: /not all connections/, error: /53300/ }],
  )
  await limit(-1)
  await openConnections(pool, 3, log)
  t.equal(pool.load().idle, 3)
  t.equal(lines.length, 1)
})

t.test('an API starts where Postgres has as many connections as its pools', async (t) => {
  const { urls, drop } = await disposableDatabase()
  t.teardown(drop)
  // Two pools of two. The checks of the database need connections first.
  await query(urls.superuser, `alter database ${new URL(urls.api).pathname.slice(1)} connection limit 4`)
  const settings = await productionSettings(urls, 'smtp://127.0.0.1:9')
  const api = await startProcess(t, 'api', settings)
  t.notMatch(api.printed.out, /not all connections/)
  t.equal((await api.stop()).code, 0)
})
