import pg from 'pg'
import { type Plan, predicateOf, sqlOf } from '../packages/client/exports.ts'
import type { DataType } from '../src/policy-engine/compile/conditions.ts'
import { openAccessEngine } from '../src/policy-engine/evaluate/engine.ts'
import { startEmbeddedPostgres } from '../src/start/development/embedded-postgres.ts'
import { built, question } from '../test/policies/stage.ts'
import { cpuOf, cpuOfTree } from './cpu.ts'
import { percentile } from './percentile.ts'
import { freshTokens, openStage, postAs, type Stage } from './stage.ts'

// Which invoices may a customer see? Asked as a plan that becomes SQL, as a search among them, and as one evaluation each.

/** What it takes to find all that a customer may see among `rows`; CPU in ms. */
export interface ListCost {
  rows: number
  way: string
  requests: number
  found: number
  ms: number
  'server CPU ms': number
  'Postgres CPU ms': number
}

const definitions = { site: 'string', amount: 'integer', labels: 'array' }
const when = (attribute: string, operator: string, operand: object) => ({
  conditions: { attribute: `resource.${attribute}`, operator, ...operand },
})
const policies = [
  { effect: 'allow', ...when('owner_id', 'eq', { value_from: 'subject.id' }) },
  { effect: 'allow', ...when('site', 'in', { value_from: 'subject.sites' }) },
  { effect: 'deny', ...when('amount', 'gt', { value: 15_000 }) },
  { effect: 'deny', ...when('status', 'eq', { value: 'secret' }) },
  { effect: 'require_approval', ...when('labels', 'contains', { value: 'locked' }) },
]
const subject = { type: 'customer', id: 'customer-7', properties: { sites: ['site-7', 'site-8'] } }
const asked = { subject, action: { name: 'read' } }
const columns = {
  ...{ 'resource.owner_id': 'owner_id', 'resource.site': 'site', 'resource.status': 'status' },
  ...{ 'resource.amount': 'amount', 'resource.labels': 'labels' },
}

/** Measures the three ways among tables of these sizes. Of a large table, the slow ways examine `most` rows. */
export async function measurePlans(
  sizes: readonly number[],
  most: number,
  say: (line: string) => void,
): Promise<ListCost[]> {
  const stage = await openStage(1, [], {
    LIMIT_DECISION_MS_PER_SECOND: '1000',
    LIMIT_DECISION_MS_PER_REQUEST: '60000',
  })
  const { superuserUrl } = await startEmbeddedPostgres({ dataDir: stage.config.DATA_DIR })
  const database = new pg.Client({ connectionString: superuserUrl })
  try {
    await database.connect()
    await prepare(stage)
    const costs: ListCost[] = []
    for (const rows of sizes) {
      await fill(database, rows)
      for (const [way, examine] of Object.entries(ways(database, most))) {
        const cost = await measured(await freshTokens(stage), { rows, way, examine })
        costs.push(cost)
        say(`${rows} rows, ${way}: ${cost.ms} ms`)
      }
    }
    return costs
  } finally {
    await database.end()
    await stage.close()
  }
}

async function prepare({ accounts: [account], servers: { api } }: Stage): Promise<void> {
  const post = (path: string, body: object) => postAs(account!.access, `${api.url}/api/v1/${path}`, body)
  const define = (category: string, key: string, data_type: string) =>
    post('attribute-definitions/', { category, key, data_type, display_name: key })
  for (const [key, type] of Object.entries(definitions)) await define('resource', key, type)
  await define('subject', 'sites', 'array')
  for (const [index, policy] of policies.entries())
    await post('policies/', { name: `Policy ${index}`, actions: ['invoice:read'], ...policy })
}

/** One in 1,000 rows is the customer's, and one in 100 belongs to their sites. */
const fill = (database: pg.Client, rows: number) =>
  database.query(`
    drop table if exists invoices;
    create table invoices as
      select n::text as id, 'customer-' || n % 1000 as owner_id, 'site-' || n % 200 as site, n % 20000 as amount,
        case when n % 50 = 8 then 'secret' else 'sent' end as status,
        case when n % 30 = 7 then '["locked"]'::jsonb else '[]' end as labels
      from generate_series(1, ${rows}) n;
    create index on invoices (owner_id);
    create index on invoices (site);
    create unique index on invoices (id);
    analyze invoices`)

type Examine = (call: (path: string, body: object) => Promise<unknown>) => Promise<string[]>

interface Invoice {
  id: string
}

function ways(database: pg.Client, most: number): Record<string, Examine> {
  const all = async () =>
    (await database.query<Invoice>(`select * from invoices order by id limit ${most}`)).rows
  const plan = async (call: Parameters<Examine>[0]) =>
    (await call('plan', { ...asked, resource: { type: 'invoice' } })) as Plan
  const where = async (call: Parameters<Examine>[0], rest: string) => {
    const { text, values } = sqlOf(await plan(call), { columns })
    const { rows } = await database.query<Invoice>(`select id from invoices where ${text} ${rest}`, values)
    return rows.map(({ id }) => id)
  }
  return {
    'plan, the first 50 in SQL': (call) => where(call, 'order by id limit 50'),
    'plan, all in SQL': (call) => where(call, ''),
    'plan, predicate': async (call) => {
      const isChosen = predicateOf(await plan(call))
      return (await all()).filter(isChosen).map(({ id }) => id)
    },
    search: async (call) => {
      const found: string[] = []
      for (const candidates of chunks(await all()))
        for (let token = ''; ; ) {
          const resource = { type: 'invoice', candidates: candidates.map(asCandidate) }
          const answer = (await call('search/resource', {
            ...asked,
            resource,
            page: { token, limit: 100 },
          })) as {
            results: Invoice[]
            page: { next_token: string }
          }
          found.push(...answer.results.map(({ id }) => id))
          token = answer.page.next_token
          if (token === '') break
        }
      return found
    },
    'one evaluation per row': async (call) => {
      const found: string[] = []
      for (const rows of chunks(await all())) {
        const evaluations = rows.map((row) => ({ resource: { type: 'invoice', ...asCandidate(row) } }))
        const answer = (await call('evaluations', { ...asked, evaluations })) as {
          evaluations: { decision: boolean }[]
        }
        found.push(...rows.filter((_row, index) => answer.evaluations[index]!.decision).map(({ id }) => id))
      }
      return found
    },
  }
}

const asCandidate = ({ id, ...properties }: Invoice) => ({ id, properties })

const chunks = <T>(items: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(items.length / 1_000) }, (_none, index) =>
    items.slice(index * 1_000, index * 1_000 + 1_000),
  )

/** Repeats what takes less than a second, because CPU is counted in steps of 10 ms. */
async function measured(
  stage: Stage,
  { rows, way, examine }: { rows: number; way: string; examine: Examine },
): Promise<ListCost> {
  const { url, pid } = stage.servers.api
  let requests = 0
  const call = (path: string, body: object) => {
    requests++
    return postAs(stage.accounts[0]!.access, `${url}/access/v1/${path}`, body)
  }
  const run = async (times: number) => {
    const before = { server: cpuOf(pid), postgres: cpuOfTree(stage.postgresPid), at: performance.now() }
    requests = 0
    let found = 0
    for (let time = 0; time < times; time++) found = (await examine(call)).length
    const each = (total: number) => Number((total / times).toPrecision(3))
    return {
      ...{ rows, way, requests: requests / times, found, ms: each(performance.now() - before.at) },
      'server CPU ms': each(cpuOf(pid) - before.server),
      'Postgres CPU ms': each(cpuOfTree(stage.postgresPid) - before.postgres),
    }
  }
  const first = await run(1)
  return first.ms > 1_000 ? first : run(Math.ceil(2_000 / first.ms))
}

/** A plan in the process, beside a decision with the same policies. Times in µs. */
export interface PlanFigures {
  policies: number
  'plan p50': number
  'plan p99': number
  'plan CPU': number
  'decision p50': number
  /** as JSON */
  'filter bytes': number
}

const types: Record<string, DataType> = {
  ...{ 'subject.clearance': 'integer', 'resource.status': 'string' },
  ...{ 'resource.amount': 'integer', 'resource.site': 'string' },
}

/** Of five comparisons, two need no resource; a fifth of the policies is left with the others. */
const restricting = (index: number) => ({
  effect: 'allow' as const,
  conditions: {
    all: [
      { attribute: 'subject.clearance', operator: 'eq', value: index % 5 },
      { attribute: 'environment.hour', operator: 'between', value: [6, 22] },
      { attribute: 'resource.status', operator: 'ne', value: 'secret' },
      { attribute: 'resource.amount', operator: 'lte', value: 1_000 + index },
      { attribute: 'resource.site', operator: 'in', value: [`site-${index}`, `site-${index + 1}`] },
    ],
  },
})

/** What the policies of a slice, all about the subject, cost a plan. */
export async function measurePlanSlices(rounds: number): Promise<PlanFigures[]> {
  const engine = await openAccessEngine()
  return [0, 10, 50, 500].map((count) => {
    const written = Array.from({ length: count }, (_none, index) => restricting(index))
    const query = question(built(written, types), { subject: { clearance: 3 } })
    const decided = {
      ...query,
      sent: { ...query.sent, resource: { status: 'sent', amount: 5, site: 'site-3' } },
    }
    const plan = () => engine.plan(query)
    const times = (work: () => unknown) => {
      for (let time = 0; time < 2_000; time++) work()
      return Array.from({ length: rounds * 400 }, () => {
        const begun = process.hrtime.bigint()
        work()
        return Number(process.hrtime.bigint() - begun) / 1000
      })
    }
    const planned = times(plan)
    const before = process.cpuUsage()
    for (let time = 0; time < 1_000; time++) plan()
    const { user, system } = process.cpuUsage(before)
    const answer = plan()
    return {
      policies: count,
      'plan p50': rounded(percentile(planned, 0.5)),
      'plan p99': rounded(percentile(planned, 0.99)),
      'plan CPU': rounded((user + system) / 1_000),
      'decision p50': rounded(
        percentile(
          times(() => engine.decide(decided)),
          0.5,
        ),
      ),
      'filter bytes': 'filter' in answer ? JSON.stringify(answer.filter).length : 0,
    }
  })
}

const rounded = (value: number) => Number(value.toPrecision(3))
