import { type QuerySqlToken, sql } from 'slonik'
import { z } from 'zod'
import { Statements } from '../../src/database/executor/statements.ts'
import { type Databases, inTenant, type Scope, type Tx } from '../../src/database/executor/transaction.ts'

/** The plan of one statement: each scan as `<node> <index or table>`, and whether its result is sorted afterwards. */
export interface Plan {
  statement: string
  scans: string[]
  sorts: boolean
  /** Scans of tables with a tenant_id that no index led by it narrows. */
  faults: string[]
}

interface Node {
  'Node Type': string
  'Parent Relationship'?: string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  Plans?: Node[]
}

const answer = z.object({ 'QUERY PLAN': z.array(z.object({ Plan: z.custom<Node>() })) })
const names = z.object({ name: z.string() })
/**
 * The plans of all statements of `work`, which runs as bailiwick_api in `scope` and is rolled back. Full scans and
 * sorts get a high cost, so that a plan shows the available index even with few rows.
 */
export async function plansOf(
  db: Pick<Databases, 'api'>,
  scope: Scope,
  work: (tx: Tx) => Promise<unknown>,
): Promise<Plan[]> {
  const plans: Plan[] = []
  const end = new Error('done')
  await inTenant(db, scope, async (tx) => {
    await tx.query(sql.unsafe`
      select set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true)`)
    const catalogue = {
      tables: new Set(await tx.anyFirst(sql.type(names)`${tablesOfTenants}`)),
      indexes: new Set(await tx.anyFirst(sql.type(names)`${indexesOfTenants}`)),
    }
    const spy = new Spy(tx, async (query) => {
      const explained = await tx.one(sql.type(answer)`explain (format json) ${query}`)
      plans.push(planOf(query.sql, explained['QUERY PLAN'][0]!.Plan, catalogue))
    })
    await work(spy as unknown as Tx)
    await spy.settled()
    throw end
  }).catch((error) => {
    if (error !== end) throw error
  })
  return plans
}

/** Explains each statement before the transaction runs it. */
class Spy extends Statements {
  readonly #tx: Tx
  readonly #explain: (query: QuerySqlToken) => Promise<void>

  constructor(tx: Tx, explain: (query: QuerySqlToken) => Promise<void>) {
    super()
    this.#tx = tx
    this.#explain = explain
  }

  override get distributed(): boolean {
    return this.#tx.distributed
  }

  readonly #later: Promise<unknown>[] = []

  later(query: QuerySqlToken): void {
    this.#later.push(this.ask(query))
  }

  /** Resolves when the statements that nothing waits for have run. */
  settled(): Promise<unknown> {
    return Promise.all(this.#later)
  }

  protected override async ask(query: QuerySqlToken) {
    await this.#explain(query)
    return Reflect.get(this.#tx, 'ask').call(this.#tx, query)
  }
}

const tablesOfTenants = sql.fragment`
  select c.relname::text as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
  where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'`

const indexesOfTenants = sql.fragment`
  select c.relname::text as name from pg_index i join pg_class c on c.oid = i.indexrelid
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0] and a.attname = 'tenant_id'`

function planOf(
  statement: string,
  root: Node,
  { tables, indexes }: Record<'tables' | 'indexes', Set<string>>,
): Plan {
  const nodes = withBelow(root)
  const scans = nodes.filter((node) => node['Relation Name'] !== undefined)
  const narrowed = (node: Node) =>
    withBelow(node).some(
      ({ 'Index Name': index = '', 'Index Cond': condition = '' }) =>
        indexes.has(index) && condition.includes('tenant_id = '),
    )
  const told = (node: Node) => `${node['Node Type']} ${node['Index Name'] ?? node['Relation Name']}`
  return {
    statement: statement.trim().replace(/\s+/g, ' '),
    scans: scans.map(told),
    sorts: sorts(root),
    faults: scans.filter((node) => tables.has(node['Relation Name']!) && !narrowed(node)).map(told),
  }
}

const withBelow = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(withBelow)]

/** Does not count sorts inside one row of the answer, and incremental sorts while an index is read. */
const sorts = (node: Node): boolean =>
  node['Node Type'] === 'Sort' ||
  (node.Plans ?? []).some(
    (below) => !/^(Sub|Init)Plan$/.test(below['Parent Relationship'] ?? '') && sorts(below),
  )
