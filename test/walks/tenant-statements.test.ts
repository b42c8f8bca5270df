import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { tablesOfPeople } from '../../src/database/isolation/isolation-policies.ts'
import { isFragment, statementsOf } from './sql-templates.ts'

// A distributed Postgres (Citus) keeps the rows of a tenant on one node, and finds it by `tenant_id = …` in the statement.
// Row-level security alone does not tell it. tenant-statements.md lists the statements that are about many tenants.

const root = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const filesBelow = (folder: string, ending: string) =>
  (readdirSync(join(root, folder), { recursive: true }) as string[])
    .filter((path) => path.endsWith(ending))
    .map((path) => join(folder, path))
    .sort()

const tables = ['schema', 'migrations']
  .flatMap((folder) => filesBelow(`src/database/${folder}`, '.sql'))
  .flatMap((path) => [...read(path).matchAll(/^create table (\w+) \(([\s\S]*?)^\);/gm)])
  .filter(([, name = '', columns = '']) => /^ +tenant_id uuid/m.test(columns) && !(name in tablesOfPeople))
  .map(([, name]) => name!)

const keywords =
  'as|where|set|on|order|group|join|left|cross|limit|union|for|values|using|select|returning|offset|full|inner|right|from'
const mention = new RegExp(
  `\\b(from|join|update|into|using) (${tables.join('|')})\\b(?: (?:as )?(?!(?:${keywords})\\b)(\\w+))?`,
  'g',
)

/** Says which tenants: a value, the key of a tenant that is joined, or rows of keys with a tenant each. */
const boundTenant = /tenant_id = (§|any\(§)|\bt\.id = §|unnest§ as \w+ \(tenant_id\b/

/** What is wrong with a statement: each table in it says which tenant's rows it means, and the statement which tenant. */
function faultsOf(text: string): string[] {
  const mentions = [...text.matchAll(mention)]
  const unbound = mentions.some(([, verb]) => verb !== 'into') && !boundTenant.test(text)
  return [...unboundTables(text), ...(unbound ? ['no value of a tenant'] : [])]
}

/** The tables of a statement, or of a part of one, that do not say which tenant's rows they mean. */
function unboundTables(text: string): string[] {
  const faults: string[] = []
  const mentions = [...text.matchAll(mention)]
  for (const [clause, verb, table = '', alias = table] of mentions) {
    const named = new RegExp(`\\b${alias}\\.tenant_id = |= ${alias}\\.tenant_id\\b|(?<![.\\w])tenant_id = `)
    const columns = new RegExp(`into ${table}(?: as \\w+)? \\(([^)]*)\\)`).exec(text)?.[1] ?? ''
    if (verb === 'into' ? !/\btenant_id\b/.test(columns) : !named.test(text))
      faults.push(`${clause}: of which tenant?`)
  }
  return faults
}

/** Forms that Citus refuses on tables of tenants, with what works. */
const refused: Record<string, RegExp> = {
  'insert … select from unnest (take listsOfValues)':
    /\binsert into \w+(?: as \w+)? \([^)]*\) select\b[^()]*unnest/,
  'select without columns (select 1)': /\(select from\b/,
  'for update skip locked (take skippingLocked)': /skip locked/,
}

const files = [...filesBelow('src', '.ts'), ...filesBelow('workers', '.ts')].filter(
  (path) => !path.startsWith('src/cli/'),
)
const allStatements = files.flatMap((path) =>
  statementsOf(read(path)).map((statement) => ({ ...statement, path })),
)
/** Subqueries that stand in no statement of their file, and the conditions of lists. Without `where` they are no query yet. */
const fragments = files.flatMap((path) =>
  statementsOf(read(path), isFragment)
    .filter(({ text }) => / where /.test(text))
    .map((fragment) => ({ ...fragment, path })),
)
const statements = allStatements.filter(({ text }) => text.search(mention) >= 0)

t.test('the walk sees the tables and statements', async (t) => {
  t.ok(tables.length > 20 && tables.includes('roles') && !tables.includes('sessions'))
  t.ok(statements.length > 150, String(statements.length))
  t.match(faultsOf('select 1 from roles where id = §'), [
    'from roles: of which tenant?',
    'no value of a tenant',
  ])
  t.match(
    faultsOf('select 1 from roles r join departments d on d.tenant_id = r.tenant_id where r.tenant_id = §'),
    [],
  )
  t.ok(fragments.length > 50, String(fragments.length))
  t.match(unboundTables('m.role_id in (select id from roles where name = §)'), [
    'from roles: of which tenant?',
  ])
  t.match(faultsOf('insert into roles (id) values (§)'), ['into roles: of which tenant?'])
})

t.test('every statement on a table of tenants says which tenant, or is listed with a reason', async (t) => {
  const listed = [
    ...read('test/walks/tenant-statements.md').matchAll(/^\| (src|workers)(\S+) \| (\w+) \| \S/gm),
  ]
  const faulty = [
    ...statements.filter(({ text }) => faultsOf(text).length > 0),
    ...fragments.filter(({ text }) => unboundTables(text).length > 0),
  ]
  const found = faulty.map(({ path, name }) => `${path} ${name}`)
  t.same(
    [...new Set(found)].sort(),
    listed.map(([, folder, path, name]) => `${folder}${path} ${name}`).sort(),
    'tenant-statements.md lists exactly these',
  )
})

for (const [form, pattern] of Object.entries(refused))
  t.test(`no statement has the form: ${form}`, async (t) => {
    const found = statements.filter(({ text }) => pattern.test(text))
    t.same(
      found.map(({ path, name }) => `${path} ${name}`),
      [],
    )
  })

t.test('no update sets a column to a slice, at which Citus 13.2 ends all of Postgres', async (t) => {
  // `set a = b[…]` and `set a = (…)[…]`; in a function such as coalesce, a slice is harmless.
  const slice = /(?:\bset |, )\w+ = (?:[\w.]+|\((?:[^()]|\([^()]*\))*\))\[/
  t.ok(slice.test('set recent = (a.b || §)[f(§):]') && !slice.test('set recent = coalesce(a.b[2:], §)'))
  const found = allStatements.filter(({ text }) => slice.test(text))
  t.same(
    found.map(({ path, name }) => `${path} ${name}`),
    [],
  )
})
