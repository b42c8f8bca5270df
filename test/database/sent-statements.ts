import pg from 'pg'
import type { Statement } from '../../src/database/executor/flush.ts'
import { flushes } from '../../src/database/executor/pool.ts'
import type { DatabaseUrls } from '../helpers/database.ts'

/** The queries of one flush, and the scope that it sets, if it sets one. */
export interface SentFlush {
  queries: Statement[]
  scope: Statement | undefined
}

/** What `send` sends to Postgres. */
export async function sentBy(send: () => Promise<unknown>): Promise<SentFlush[]> {
  const sent: SentFlush[] = []
  const note = (message: unknown) => {
    const statements = message as Statement[]
    const queries = statements.filter(
      ({ text }) => /^\s*(select|with)\b/i.test(text) && !text.includes('set_config('),
    )
    sent.push({ queries, scope: statements.find(({ text }) => text.includes("set_config('app.")) })
  }
  flushes.subscribe(note)
  await send().finally(() => flushes.unsubscribe(note))
  return sent
}

interface Node {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Node[]
}

/** How Postgres executed a query, with its own statistics. */
export interface Execution {
  text: string
  /** rows that the scans read, also those that a filter then removed */
  read: number
  /** sequential scans of more than 1,000 rows, and sorts of more than 1,000 rows */
  faults: string[]
  ms: number
}

const many = 1_000

/** Executes the queries of a flush again, as the role that may, in its scope, and explains each. */
export async function execute(urls: DatabaseUrls, { queries, scope }: SentFlush): Promise<Execution[]> {
  const client = new pg.Client({ connectionString: scope ? urls.api : urls.system })
  await client.connect()
  try {
    await client.query('begin')
    if (scope) await client.query(scope.text, [...scope.values])
    const done: Execution[] = []
    for (const { text, values } of queries) {
      const { rows } = await client.query(`explain (analyze, timing off, format json) ${text}`, [...values])
      const [{ Plan: plan, 'Execution Time': ms }] = rows[0]['QUERY PLAN']
      done.push({ text: text.trim().replace(/\s+/g, ' '), ms, ...judge(plan) })
    }
    return done
  } finally {
    await client.end()
  }
}

function judge(root: Node): Pick<Execution, 'read' | 'faults'> {
  const nodes = withBelow(root)
  const scans = nodes.filter((node) => node['Relation Name'] !== undefined)
  const whole = scans.filter((node) => node['Node Type'] === 'Seq Scan' && rowsRead(node) > many)
  const sorts = nodes.filter((node) => node['Node Type'] === 'Sort' && rowsSorted(node) > many)
  return {
    read: scans.reduce((sum, node) => sum + rowsRead(node), 0),
    faults: [
      ...whole.map((node) => `reads all ${rowsRead(node)} rows of ${node['Relation Name']}`),
      ...sorts.map((node) => `sorts ${rowsSorted(node)} rows`),
    ],
  }
}

const withBelow = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(withBelow)]
const rowsRead = (node: Node) =>
  (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
const rowsSorted = (node: Node) => Math.max(0, ...(node.Plans ?? []).map(rowsRead))
