import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { type CitusCluster, findCitus, startCitusCluster } from '../../tools/tests/citus-cluster.ts'
import { query } from '../helpers/query.ts'
import type { Service } from '../helpers/service.ts'

const programs = await findCitus(process.env.CITUS_BIN)

/** For tests that need a cluster. */
export const skip = programs ? false : 'Citus is not installed'

/** The service on a cluster of a test's own. */
export interface ServedCluster extends Pick<CitusCluster, 'control'> {
  service: Service
  /** The superuser's addresses of the two nodes, and of servers that are no nodes yet. */
  nodes: string[]
  spare: string[]
  /** The port of the node that has the rows of a tenant. */
  nodeOf(tenantId: string): Promise<string>
}

/** Starts the service, with the timeouts of production, on a cluster that commits durably. */
export async function serveCluster(
  t: Test,
  { spare = 0, actors }: { spare?: number; actors?: string[] } = {},
): Promise<ServedCluster> {
  const { superuserUrls, control, remove } = await startCitusCluster(programs!, 3 + spare)
  t.teardown(remove)
  for (const url of superuserUrls)
    await query(
      url,
      'alter system set synchronous_commit = on',
      "alter system set citus.recover_2pc_interval = '1s'",
      'select pg_reload_conf()',
    )
  const [coordinator, ...others] = superuserUrls
  const nodes = others.slice(0, 2)
  Object.assign(process.env, { TEST_DATABASE_URL: coordinator, TEST_CITUS_WORKERS: nodes.join() })
  const { startService } = await import('../helpers/service.ts')
  const { useProductionTimeouts } = await import('../helpers/database.ts')
  const service = await startService(t, actors ? { actors } : { workers: false })
  useProductionTimeouts(t)
  const nodeOf = async (tenantId: string) => {
    const [row] = await query(
      service.databases.superuser,
      `select nodeport::text as port from citus_shards
       where shardid = get_shard_id_for_distribution_column('roles', '${tenantId}')`,
    )
    return String(row!.port)
  }
  return { service, nodes, spare: others.slice(2), nodeOf, control }
}

/** The first answer that is no 503, of at most 20. `onRetry` is called with each 503. */
export async function untilServed<T extends { status: number }>(
  ask: () => Promise<T>,
  onRetry: (refused: T) => void = () => undefined,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const answer = await ask()
    if (answer.status !== 503 || tries === 20) return answer
    onRetry(answer)
    await sleep(250)
  }
}
