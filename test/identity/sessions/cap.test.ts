import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { QuerySqlToken } from 'slonik'
import t from 'tap'
import type { Tx } from '../../../src/database/executor/transaction.ts'
import { endOldestSessions } from '../../../src/identity/sessions/store.ts'
import { workerNodes } from '../../helpers/citus.ts'
import { startService } from '../../helpers/service.ts'

const service = await startService(t, { workers: false })
const client = new pg.Client({ connectionString: service.databases.superuser })
await client.connect()
t.teardown(() => client.end())

interface Node {
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Node[]
}

/** The rows and index entries of sessions that a plan read, in all its nodes. */
const rowsRead = (node: Node): number =>
  (`${node['Relation Name']} ${node['Index Name']}`.includes('sessions')
    ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
    : 0) + (node.Plans ?? []).reduce((sum, below) => sum + rowsRead(below), 0)

const skip = workerNodes.length > 0 && 'Citus explains an update as text'

t.test(
  'a login reads no other person’s sessions to check whether its person has too many',
  { skip },
  async (t) => {
    const [crowd, own, person] = [500, 20, randomUUID()]
    await client.query('set session_replication_role = replica')
    await client.query(
      `insert into sessions (id, user_id, tenant_id, acr, amr, auth_time, user_agent, ip, created_at, last_used_at, expires_at)
     select gen_random_uuid(), case when n <= $1 then $2 else gen_random_uuid() end, gen_random_uuid(), 'aal1', '{pwd}', now(), '', '',
       now(), now(), now() + interval '1 day' from generate_series(1, $3::int) n`,
      [own, person, crowd],
    )
    const statements: QuerySqlToken[] = []
    const spy = {
      async any(query: QuerySqlToken) {
        statements.push(query)
        return []
      },
    } as unknown as Tx
    await endOldestSessions(spy, { userId: person, ofGrants: false, kept: 1_000, at: Date.now() })
    const [{ sql, values }] = statements as [QuerySqlToken]
    // As after a few logins: prepared, with a generic plan.
    await client.query('set plan_cache_mode = force_generic_plan')
    await client.query(`prepare cap as ${sql.replaceAll('$slonik_', '$')}`)
    const given = values.map((value) => pg.escapeLiteral(String(value))).join(', ')
    const { rows } = await client.query(`explain (analyze, format json) execute cap (${given})`)
    const read = rowsRead(rows[0]['QUERY PLAN'][0].Plan)
    t.ok(read <= own, `${read} rows read of ${crowd}`)
  },
)
