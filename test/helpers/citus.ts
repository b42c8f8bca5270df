import { distribute } from '../../src/database/cluster/distribute.ts'
import { query } from './query.ts'

/** The superuser's addresses of the nodes of a Citus cluster besides its coordinator, which is TEST_DATABASE_URL. */
export const workerNodes = (process.env.TEST_CITUS_WORKERS ?? '').split(',').filter(Boolean)

const inDatabase = (url: string, name: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href

/** Runs statements about databases on the coordinator, and then, as it connects to them, on the nodes if there are any. */
export async function onEveryNode(coordinator: string, ...statements: string[]): Promise<void> {
  await query(coordinator, ...statements)
  await Promise.all(workerNodes.map((url) => query(url, ...statements)))
}

/** Distributes a migrated database of the cluster, and ends the connections that Citus keeps to it, so that it can be copied. */
export async function distributeDatabase(coordinator: string, name: string): Promise<void> {
  const own = inDatabase(coordinator, name)
  for (const url of [coordinator, ...workerNodes])
    await query(inDatabase(url, name), 'create extension citus')
  const { hostname, port } = new URL(coordinator)
  const nodes = workerNodes.map((url) => new URL(url))
  await query(
    own,
    `select citus_set_coordinator_host('${hostname}', ${port})`,
    ...nodes.map((node) => `select citus_add_node('${node.hostname}', ${node.port})`),
  )
  await distribute(own, () => undefined)
  await onEveryNode(coordinator, ...closing(name))
}

/**
 * Statements that end all connections to a database and let none in: on a cluster each node's daemon opens connections to the other
 * nodes, at any time.
 */
export const closing = (name: string): string[] => [
  `update pg_database set datallowconn = false where datname = '${name}'`,
  `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`,
]
