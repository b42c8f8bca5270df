import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { distribute } from '../src/database/cluster/distribute.ts'
import { migrate } from '../src/database/migrate/migrate.ts'
import { type Config, readConfig } from '../src/settings/config.ts'
import { query } from '../test/helpers/query.ts'
import { type CitusCluster, findCitus, startCitusCluster } from '../tools/tests/citus-cluster.ts'
import { cpuOf, cpuOfTree } from './cpu.ts'
import { percentile } from './percentile.ts'
import { callerOf } from './recordings.ts'
import { rounded } from './requests.ts'
import {
  type Account,
  apiEnvironment,
  end,
  entry,
  generate,
  type Load,
  logIn,
  makeAccounts,
  serve,
} from './stage.ts'
import { suites } from './suites.ts'

const clients = 8
const measured = ['me', 'members', 'write', 'refresh', 'login']

/** The cost of a request: per second, and CPU in ms of the API, the coordinator and all nodes together. */
export interface Cost {
  request: string
  'per s': number
  'API ms': number
  'coordinator ms': number
  'nodes ms': number
  'all ms': number
  /** Of the statements on tables of tenants and people, those that asked one shard; empty without Citus. */
  'one shard': string
}

/** Costs of requests on servers of one kind, with this many more tenants. */
export interface Costs {
  servers: string
  tenants: number
  costs: Cost[]
}

/**
 * Measures the same requests on one Postgres, on a Citus coordinator that keeps all rows, and on a coordinator with two nodes, there
 * also among more tenants. All servers are of the Postgres that has Citus, and commit durably. Null without Citus.
 */
export async function measureDistributed(
  { rounds, seconds, tenants }: { rounds: number; seconds: number; tenants: number[] },
  say: (line: string) => void,
): Promise<Costs[] | null> {
  const programs = await findCitus(process.env.CITUS_BIN)
  if (!programs) return null
  const results: Costs[] = []
  for (const [servers, nodes] of [
    ['one Postgres', null],
    ['Citus, one server', 0],
    ['Citus, coordinator and two nodes', 2],
  ] as const) {
    const cluster = await startCitusCluster(programs, 1 + (nodes ?? 0))
    try {
      const stage = await openStage(cluster, nodes !== null)
      try {
        for (const more of nodes === 2 ? tenants : [0]) {
          await addTenants(stage.url, more)
          const costs = await measure(stage, { rounds, seconds })
          results.push({ servers, tenants: clients + more, costs })
          say(`${servers}, ${clients + more} tenants: ${JSON.stringify(costs)}`)
        }
      } finally {
        await end(stage.api.child)
      }
    } finally {
      await cluster.remove()
    }
  }
  return results
}

interface Stage {
  /** The superuser's address of the database on the coordinator. */
  url: string
  isCitus: boolean
  api: Awaited<ReturnType<typeof serve>>
  coordinator: number
  nodes: number[]
  accounts: Account[]
}

async function openStage({ superuserUrls }: CitusCluster, isCitus: boolean): Promise<Stage> {
  const inDatabase = (url: string) => Object.assign(new URL(url), { pathname: '/bailiwick' }).href
  const [url, ...nodes] = superuserUrls.map(inDatabase) as [string, ...string[]]
  for (const server of superuserUrls)
    await query(
      server,
      ...['fsync', 'full_page_writes', 'synchronous_commit'].map((name) => `alter system set ${name} = on`),
      'select pg_reload_conf()',
      'create database bailiwick',
      'alter database bailiwick set citus.shard_count = 8', // making them takes longest, and a request asks one
      'alter database bailiwick set citus.enable_stat_counters = on',
    )
  if (isCitus) await makeCluster(url, nodes)
  const config = configOf(url)
  await migrate(url, config.roles)
  if (isCitus) await distribute(url, () => undefined)
  const settings = { DATABASE_DISTRIBUTED: String(isCitus), LIMIT_CUSTOM_ROLES: '10000' }
  const api = await serve([entry, 'api'], { ...apiEnvironment(config.config), ...settings }, '/readyz')
  const pids = await Promise.all([url, ...nodes].map(postmasterOf))
  const accounts = await makeAccounts(api.url, clients)
  return { url, isCitus, api, coordinator: pids[0]!, nodes: pids.slice(1), accounts }
}

async function makeCluster(url: string, nodes: readonly string[]): Promise<void> {
  for (const server of [url, ...nodes]) await query(server, 'create extension citus')
  const { hostname, port } = new URL(url)
  await query(
    url,
    `select citus_set_coordinator_host('${hostname}', ${port})`,
    ...nodes.map((node) => `select citus_add_node('${hostname}', ${new URL(node).port})`),
    ...(nodes.length > 0
      ? []
      : [`select citus_set_node_property('${hostname}', ${port}, 'shouldhaveshards', true)`]),
  )
}

function configOf(url: string): { config: Config; roles: Parameters<typeof migrate>[1] } {
  const as = (role: string) =>
    Object.assign(new URL(url), { username: `bailiwick_${role}`, password: 'only-for-the-bench' }).href
  const roles = { api: as('api'), system: as('system'), worker: as('worker') }
  const config = readConfig({
    NODE_ENV: 'test',
    SECRET_KEYS: Buffer.alloc(32, 1).toString('base64url'),
    DATABASE_API_URL: roles.api,
    DATABASE_SYSTEM_URL: roles.system,
    DATABASE_WORKER_URL: roles.worker,
  })
  return { config, roles }
}

/** Adds tenants with an owner and a role each, until there are this many more. */
async function addTenants(url: string, count: number): Promise<void> {
  if (count === 0) return
  const id = (kind: string) => `md5('${kind}' || n)::uuid`
  const each = `from generate_series(1, ${count}) n on conflict do nothing`
  await query(
    url,
    `insert into tenants (id, name, slug, created_at, updated_at) select ${id('t')}, 'T' || n, 'more-' || n, now(), now() ${each}`,
    `insert into users (id, email, password_hash, first_name, last_name, date_joined, updated_at)
     select ${id('u')}, 'more' || n || '@example.com', 'x', 'More', 'Person', now(), now() ${each}`,
    `insert into memberships (tenant_id, id, user_id, email, first_name, last_name, is_active, date_joined, person_version, joined_at, updated_at)
     select ${id('t')}, ${id('m')}, ${id('u')}, 'more' || n || '@example.com', 'More', 'Person', true, now(), 1, now(), now() ${each}`,
    `insert into person_memberships (tenant_id, user_id) select ${id('t')}, ${id('u')} ${each}`,
    `insert into tenant_revisions (tenant_id) select ${id('t')} ${each}`,
    `insert into roles (tenant_id, id, name, name_key, created_at, updated_at)
     select ${id('t')}, ${id('r')}, 'More', 'more', now(), now() ${each}`,
    'analyze',
  )
}

async function measure(stage: Stage, options: { rounds: number; seconds: number }): Promise<Cost[]> {
  const costs: Cost[] = []
  for (const name of measured) {
    const rounds: Record<string, number>[] = []
    const before = await countStatements(stage)
    for (let round = 0; round <= options.rounds; round++) {
      const figures = await measureOnce(stage, name, options.seconds)
      if (round > 0) rounds.push(figures) // the first one fills caches
    }
    const after = await countStatements(stage)
    const medians = Object.fromEntries(
      Object.keys(rounds[0]!).map((key) => [
        key,
        rounded(
          percentile(
            rounds.map((round) => round[key]!),
            0.5,
          ),
        ),
      ]),
    ) as Omit<Cost, 'request' | 'one shard'>
    const single = after.single - before.single
    const share = single / Math.max(1, single + after.multi - before.multi)
    costs.push({
      request: name,
      ...medians,
      'one shard': stage.isCitus ? `${(share * 100).toFixed(1)} %` : '',
    })
  }
  return costs
}

async function measureOnce(stage: Stage, name: string, seconds: number) {
  const accounts = name === 'refresh' ? await withFreshTokens(stage) : stage.accounts
  const suite = suites.find((suite) => suite.name === name)
  const load = suite ? suite.load(accounts) : writeRoles(accounts)
  const { pid } = stage.api.child
  const used = () => [cpuOf(pid!), cpuOfTree(stage.coordinator), ...stage.nodes.map(cpuOfTree)]
  const before = used()
  const { perSecond, requests, failed } = await generate({ ...load, url: stage.api.url, seconds })
  if (failed > 0) throw new Error(`${name}: ${failed} requests failed`)
  const [api, coordinator, ...nodes] = used().map((ms, index) => (ms - before[index]!) / requests)
  const ofNodes = nodes.reduce((sum, ms) => sum + ms, 0)
  return {
    'per s': perSecond,
    'API ms': api!,
    'coordinator ms': coordinator!,
    'nodes ms': ofNodes,
    'all ms': api! + coordinator! + ofNodes,
  }
}

/** A refresh token works once. */
const withFreshTokens = ({ accounts, api }: Stage) =>
  Promise.all(accounts.map(async (account) => ({ ...account, ...(await logIn(api.url, account)) })))

/** A new role, an event and an audit row, with each request. */
const writeRoles = (accounts: Account[]): Omit<Load, 'seconds' | 'url'> => ({
  method: 'POST',
  path: '/',
  accounts: accounts.map((account) => ({
    headers: { 'content-type': 'application/json', authorization: `Bearer ${account.access}` },
    body: JSON.stringify({ name: 'Role #' }),
    path: `/api/v1/tenants/${callerOf(account).tenantId}/roles/`,
  })),
  numbered: true,
})

async function countStatements({ url, isCitus }: Stage): Promise<{ single: number; multi: number }> {
  if (!isCitus) return { single: 0, multi: 0 }
  const [row] = await query(
    url,
    `select query_execution_single_shard::int as single, query_execution_multi_shard::int as multi
     from citus_stat_counters where name = current_database()`,
  )
  return row as { single: number; multi: number }
}

async function postmasterOf(url: string): Promise<number> {
  const [row] = await query(url, 'show data_directory')
  return Number.parseInt(await readFile(join(String(row!.data_directory), 'postmaster.pid'), 'utf8'), 10)
}
