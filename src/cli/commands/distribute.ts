import pg from 'pg'
import { describe, distribute as spread } from '../../database/cluster/distribute.ts'
import {
  type Cluster,
  findCluster,
  isRecent,
  listPlaces,
  listUnreachable,
  minCitus,
  misplaced,
  stateOf,
  type TablePlace,
} from '../../database/cluster/distribution.ts'
import { undistribute } from '../../database/cluster/undistribute.ts'
import { withConnection } from '../../database/executor/with-connection.ts'
import { assertAnswers } from '../../database/isolation/soundness.ts'
import { missingMigrations, rolesOf } from '../../database/migrate/migrate.ts'
import { type Config, roleUrls } from '../../settings/config.ts'
import { defineCommand, type Outcome, Refused } from '../command.ts'
import { flag, Misuse } from '../options.ts'

const everyRole = ['api', 'system', 'worker'] as const

export const distribute = defineCommand({
  name: 'distribute',
  about: 'Spread the tables of tenants over the nodes of a distributed Postgres (Citus)',
  options: {
    check: flag('Change nothing: name the tables that are not in their place, and exit 1 if there are any'),
    undo: flag('Move all tables back to the coordinator, with the schema of one Postgres'),
  },
  example: '--check',
  failure: 'failed, or with --check: tables are not in their place',
  roles: everyRole,
  run: ({ config, options, say }) => {
    const { DATABASE_URL } = config
    if (!DATABASE_URL)
      throw new Refused(
        'configuration',
        'Set DATABASE_URL to the address of the owner role on the coordinator.',
      )
    if (options.check && options.undo) throw new Misuse('Choose --check or --undo.')
    if (options.undo) return undoAll(DATABASE_URL, say)
    return options.check ? checkPlaces(DATABASE_URL) : distributeAll(DATABASE_URL, config, say)
  },
})

async function checkPlaces(url: string): Promise<Outcome> {
  await assertAnswers({ DATABASE_URL: url })
  const { cluster, places } = await readCluster(url)
  const wrong = misplaced(places)
  const text = wrong.length > 0 ? describe(wrong).replaceAll('; ', '\n') : inPlace(cluster, places)
  return {
    exit: wrong.length > 0 ? 1 : 0,
    data: { state: stateOf(places), ...cluster, tables: places },
    text,
  }
}

async function distributeAll(url: string, config: Config, say: (line: string) => void): Promise<Outcome> {
  await assertAnswers({ DATABASE_URL: url })
  const { cluster, places } = await readCluster(url)
  assertRepairable(places)
  if (misplaced(places).length > 0) {
    await assertNodes(url, config)
    await connected(url, assertIdle)
  }
  const moved = await spread(url, say)
  const text =
    moved.length > 0
      ? `Distributed ${moved.length} tables. Now set DATABASE_DISTRIBUTED=true.`
      : inPlace(cluster, places)
  return { data: { moved, nodes: cluster.nodes }, text }
}

/** Also mends a restored dump of a coordinator, which has the schema of a cluster and no Citus. */
async function undoAll(url: string, say: (line: string) => void): Promise<Outcome> {
  await assertAnswers({ DATABASE_URL: url })
  await assertMigrated(url)
  await connected(url, assertIdle)
  const moved = await undistribute(url, say)
  const text = `Moved ${moved.length} tables back. The database has the schema of one Postgres. Now set DATABASE_DISTRIBUTED=false.`
  return { data: { moved }, text }
}

/** The cluster and the places of the tables. Refuses what is no coordinator of a recent Citus with nodes, or not migrated. */
async function readCluster(url: string): Promise<{ cluster: Cluster; places: TablePlace[] }> {
  const cluster = assertCoordinator(await connected(url, findCluster))
  await assertMigrated(url)
  return { cluster, places: await connected(url, listPlaces) }
}

async function assertMigrated(url: string): Promise<void> {
  const missing = await missingMigrations(url)
  if (missing.length > 0)
    throw new Refused(
      'migrations_missing',
      `Run npm run cli -- migrate first. Missing: ${missing.join(', ')}`,
    )
}

function assertCoordinator(cluster: Cluster | null): Cluster {
  if (!cluster)
    throw new Refused(
      'no_citus',
      `This database has no Citus. Install Citus ${minCitus} or later, and run: create extension citus`,
    )
  const { version, isCoordinator, nodes } = cluster
  if (!isRecent(version))
    throw new Refused('old_citus', `Citus ${version} is too old. Upgrade to ${minCitus} or later.`)
  if (!isCoordinator)
    throw new Refused('no_coordinator', 'DATABASE_URL leads to a worker of Citus. Set it to the coordinator.')
  if (nodes.length === 0)
    throw new Refused(
      'no_nodes',
      "Citus has no nodes for data. Add them: select citus_add_node('<host>', 5432)",
    )
  return cluster
}

/** Refuses tables that were distributed in another way: only an operator knows why. */
function assertRepairable(places: readonly TablePlace[]): void {
  const wrong = misplaced(places).filter(({ actual }) => actual !== 'coordinator')
  if (wrong.length > 0)
    throw new Refused(
      'half_distributed',
      `The database is distributed in another way, and nothing was changed: ${describe(wrong)}. For each of these tables run: select undistribute_table('<table>', cascade_via_foreign_keys => true)`,
    )
}

/** Refuses when a role cannot log in on a node, or a setting would keep its scope from the nodes. */
async function assertNodes(url: string, config: Config): Promise<void> {
  const urls = rolesOf(roleUrls(config)).map(([role, address]) => [`bailiwick_${role}`, address] as const)
  for (const [role, address] of [['bailiwick_owner', url] as const, ...urls])
    await connected(address, async (client) => {
      if (role === 'bailiwick_owner') await client.query('set role bailiwick_owner')
      const [refused] = await listUnreachable(client)
      if (refused) throw new Refused('node_unreachable', adviceFor(role, refused))
      if (!(await findCluster(client))!.passesScope)
        throw new Refused(
          'scope_not_passed',
          `Nodes would not learn the tenant of a transaction of ${role}. As a superuser, run: alter database ${pg.escapeIdentifier(client.database!)} set citus.propagate_set_commands = 'local'`,
        )
    })
}

/** Citus only says that it failed to connect. The owner comes first: where it gets in, the node is up. */
const adviceFor = (role: string, { node, says }: { node: string; says: string }) => {
  const login = `Let the role log in (alter role ${role} login), and allow the coordinator in pg_hba.conf of the node, or give it the password in pg_dist_authinfo.`
  const advice = role === 'bailiwick_owner' ? `Start the node if it is down. ${login}` : login
  return `The coordinator cannot reach ${node} as ${role}, and nothing was changed: ${says.trim()}. ${advice}`
}

/** Refuses while processes of the service are connected: their requests would wait until all tables are moved. */
async function assertIdle(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ count: number }>(`
    select count(*)::int from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and usename in ('bailiwick_api', 'bailiwick_system', 'bailiwick_worker') and application_name not like 'citus%'`)
  const { count } = rows[0]!
  if (count > 0)
    throw new Refused('in_use', `Stop the API and the workers first: they have ${count} connections.`)
}

const inPlace = ({ nodes }: Cluster, places: readonly TablePlace[]) => {
  const spreadTables = places.filter(({ actual }) => actual === 'by tenant_id').length
  return `${spreadTables} tables are spread by tenant_id over ${nodes.join(', ')}`
}

const connected = <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> =>
  withConnection(url, 'bailiwick-distribute', work)
