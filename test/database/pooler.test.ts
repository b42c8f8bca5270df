import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { startTestCluster } from '../../tools/tests/test-cluster.ts'
import { passwordOfRoles } from '../helpers/database.ts'
import { startPgBouncer } from './pgbouncer.ts'

// own process: it starts other tests

// The tests of isolation and identity again, with PgBouncer in transaction mode between the API and Postgres. Migrations
// and workers connect directly, because LISTEN and the queues need a session. The checks of the roles themselves are left
// out: they make logins that the pooler does not know.

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')
const files = [
  'test/adversary/adversary.test.ts',
  'test/adversary/sign-in.test.ts',
  'test/adversary/tenants.test.ts',
  'test/adversary/tokens-and-addresses.test.ts',
  'test/adversary/values.test.ts',
  'test/database/rows.test.ts',
  'test/identity/auth',
  'test/identity/sessions',
  'test/identity/keys',
  'test/identity/otp',
  'test/tenancy/members',
  'test/tenancy/tenants',
]

t.test('isolation and identity hold behind PgBouncer in transaction mode', async (t) => {
  const cluster = await startTestCluster()
  t.teardown(() => cluster.remove())
  const users = ['bailiwick_api', 'bailiwick_system'].map((name) => ({ name, password: passwordOfRoles }))
  const pooler = await startPgBouncer(cluster.superuserUrl, users)
  t.teardown(() => pooler.stop())
  const { CI: _, ...env } = process.env
  const settings = { TEST_DATABASE_URL: cluster.superuserUrl, TEST_POOLER: `127.0.0.1:${pooler.port}` }
  const { stdout } = await run(
    process.execPath,
    [join(root, 'src', 'start', 'entry.cjs'), 'test', ...files],
    {
      cwd: root,
      env: { ...env, ...settings },
      maxBuffer: 64 * 1024 * 1024,
    },
  ).catch((error) => error as { stdout: string })
  t.match(stdout, /\n[1-9]\d{3,} passed, 0 failed/)
  for (const line of stdout.split('\n')) if (line.startsWith('✗')) t.fail(line)
})
