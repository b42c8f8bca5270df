import { pino } from 'pino'
import t from 'tap'
import { openConnections } from '../../../src/platform/db/open-connections.ts'
import { openPool } from '../../../src/platform/db/pool.ts'
import { disposableDatabase } from '../../helpers/database.ts'
import { query } from '../../helpers/query.ts'

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
