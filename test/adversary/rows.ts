import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { checkIsolation } from '../../src/database/isolation/isolation.ts'
import { type CatalogueTable, catalogueTables, seedRows } from '../database/seed-rows.ts'
import type { DatabaseUrls } from '../helpers/database.ts'
import type { Attack, Tally } from './attack.ts'

// What is left if the service forgets its filters: the API role reads and writes every table in the scope of tenant A,
// in a scope that is missing, and in one that is no id. It must not reach a row of tenant B.

export const rows: Attack = {
  name: 'rows',
  about: 'every table as the role of the API, in the scope of another tenant and in none',
  async run(stage, tally) {
    const { databases } = await stage.fresh({ workers: false })
    const [superuser, api] = [databases.superuser, databases.api].map(
      (connectionString) => new pg.Client({ connectionString }),
    )
    await Promise.all([superuser!.connect(), api!.connect()])
    try {
      await isolationOf(tally, databases)
      const b = { tenantId: randomUUID(), userId: randomUUID() }
      const tables = await catalogueTables(superuser!)
      await seedRows(superuser!, tables, b)
      for (const table of tables) await reach(tally, api!, table, b)
    } finally {
      await Promise.all([superuser!.end(), api!.end()])
    }
  },
}

/** What `doctor` checks: policies, grants, keys and functions as they are frozen. */
async function isolationOf(tally: Tally, urls: DatabaseUrls) {
  const faults = await checkIsolation(urls)
  tally.check(
    faults.length === 0,
    faults.map(({ check, object, detail }) => `${check}: ${object} ${detail}`).join('; '),
  )
}

/** Tables that people of one tenant may read of others are none; tables about people are separated by person. */
async function reach(
  tally: Tally,
  api: pg.Client,
  { name, columns }: CatalogueTable,
  b: { tenantId: string; userId: string },
) {
  const column =
    ['tenant_id', 'user_id'].find((scope) => columns.includes(scope)) ??
    (['tenants', 'users'].includes(name) ? 'id' : null)
  if (column === null) return
  const theirs = column === 'tenant_id' || name === 'tenants' ? b.tenantId : b.userId
  for (const scope of [randomUUID(), '', null])
    for (const statement of [
      `select from ${name} where ${column} = '${theirs}'`,
      `update ${name} set ${column} = ${column} where ${column} = '${theirs}'`,
      `delete from ${name} where ${column} = '${theirs}'`,
      `update ${name} set ${column} = '${theirs}'`,
    ]) {
      const touched = await rowsOf(api, scope, statement)
      tally.count(`${statement} in the scope ${scope}`, touched === 0 ? null : `${touched} rows`)
    }
}

/** The number of rows that a statement reaches in a scope; 0 where the role may not make it at all. */
async function rowsOf(api: pg.Client, scope: string | null, statement: string): Promise<number> {
  await api.query('begin')
  try {
    if (scope !== null)
      await api.query("select set_config('app.tenant_id', $1, true), set_config('app.user_id', $1, true)", [
        scope,
      ])
    return (await api.query(statement)).rowCount ?? 0
  } catch (error) {
    if (['42501', '23503', '23502'].includes((error as pg.DatabaseError).code ?? '')) return 0
    throw error
  } finally {
    await api.query('rollback')
  }
}
