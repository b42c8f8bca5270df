import t from 'tap'
import { openConnections } from '../../../src/platform/db/open-connections.ts'
import { openPool } from '../../../src/platform/db/pool.ts'
import { disposableDatabase } from '../../helpers/database.ts'
import { query } from '../../helpers/query.ts'

t.test('all connections of a pool are opened, or an error says why not', async (t) => {
  const { urls, drop } = await disposableDatabase()
  const pool = openPool(urls.api, { size: 3, prepared: true, applicationName: 'test' })
  t.teardown(async () => {
    await pool.end()
    await drop()
  })
  const limit = (most: number) =>
    query(urls.superuser, `alter database ${new URL(urls.api).pathname.slice(1)} connection limit ${most}`)
  await limit(2)
  await t.rejects(openConnections(pool, 3), { code: '53300' })
  t.equal(pool.load().idle, 2)
  await limit(-1)
  await openConnections(pool, 3)
  t.equal(pool.load().idle, 3)
})
