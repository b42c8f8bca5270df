import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readBaseline } from '../../src/database/migrate/ledger.ts'
import { firstReleaseOn } from '../../src/database/migrate/running-releases.ts'

// A release runs on the schema of the next one while processes are replaced, and after a rollback of the processes. So
// a migration only adds. It can remove only what a published release no longer uses, or
// it stands in `firstReleaseOn`, and `migrate` refuses while processes of an earlier release are connected.

const folder = join(import.meta.dirname, '..', '..', 'src', 'database', 'migrations')
const names = readdirSync(folder).filter((name) => name.endsWith('.sql'))
const textOf = (name: string) => readFileSync(join(folder, name), 'utf8')
const baseline = await readBaseline()

/** The newest release: its version, its last migration after the baseline, and the SHA-256 of the text of its whole schema. */
const newest = {
  version: '0.2.0',
  lastMigration: '', // its schema is the baseline
  sha256: '60cf874463e2a4b629b9f6b6178bff65f6584907da41528c0160399e25224524',
}
const released = names.filter((name) => name <= newest.lastMigration).sort()
const releasedTexts = [baseline.text, ...released.map(textOf)]
const knownTables = releasedTexts.flatMap((text) =>
  [...text.matchAll(/^create (?:unlogged )?table (\w+)/gm)].map(([, table]) => table ?? ''),
)

interface Statement {
  /** In lower case, with single spaces, without comments. */
  text: string
  /** The release of a `-- contract: <release>` line above it. */
  contract?: string | undefined
}

/** The statements of a migration, also in `do` blocks and in what these execute. Bodies of functions are left out, because they run later. */
function statementsOf(migration: string): Statement[] {
  const bare = migration.replace(/\bdo\s+\$(\w*)\$\s*(?:begin)?([\s\S]*?)\$\1\$/gi, '$2')
  const unquoted = bare.replace(/\bexecute\s+(?:format\s*\(\s*)?'((?:[^']|'')*)'/gi, '$1')
  const parts = unquoted.replace(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''").split(';')
  return parts.map((part) => ({
    text: part
      .replace(/--.*$/gm, '')
      .replace(/'(?:[^']|'')*'/g, "''")
      .replace(/\s+/g, ' ')
      .trim()
      .toLowerCase(),
    contract: /^\s*-- contract: (\d+\.\d+\.\d+)\b/m.exec(part)?.[1],
  }))
}

const isReleased = (version: string) => version.localeCompare(newest.version, 'en', { numeric: true }) <= 0

/** What a statement removes that the release before uses; null when it only adds. */
function loss({ text, contract }: Statement): string | null {
  if (/^drop table\b/.test(text) && knownTables.some((name) => new RegExp(`\\b${name}\\b`).test(text)))
    return 'drops a table, and the release before does not start without it: empty it instead'
  const [, kind] = /\bdrop (trigger|function|procedure|routine)\b/.exec(text) ?? []
  if (kind && !(contract && isReleased(contract)))
    return `drops a ${kind} that statements of the release before can rely on`
  const [, table = '', rest = ''] =
    /^alter table (?:if exists )?(?:only )?(?:public\.)?"?(\w+)"? (.*)$/.exec(text) ?? []
  if (!knownTables.includes(table) || (contract && isReleased(contract))) return null
  for (const clause of rest.split(/,(?![^(]*\))/).map((part) => part.trim())) {
    if (/^rename\b/.test(clause)) return 'renames something that the release before uses'
    if (/^drop (?!constraint|not null|default|identity|expression)/.test(clause)) return 'drops a column'
    if (/^alter (column )?\S+ (set data )?type\b/.test(clause)) return 'changes the type of a column'
    if (/^alter (column )?\S+ drop default/.test(clause)) return 'drops a default that inserts can rely on'
    const [, column] = /^alter (?:column )?(\S+) set not null/.exec(clause) ?? []
    if (column && !new RegExp(`alter (column )?${column} set default`).test(rest))
      return 'sets a column not null that the release before can leave out'
    if (
      /^add (?!constraint|check|unique|primary|foreign|exclude)/.test(clause) &&
      /\bnot null\b/.test(clause) &&
      !/\b(default|generated)\b/.test(clause)
    )
      return 'adds a column that is not null and has no default'
    if (/^(set schema|disable|no force|owner)\b/.test(clause))
      return 'takes the table from the release before'
  }
  return null
}

const lossesOf = (migration: string) =>
  statementsOf(migration).flatMap((statement) => {
    const what = loss(statement)
    return what ? [`${what}: ${statement.text}`] : []
  })

t.test('migrations since the newest release only add', async (t) => {
  const fresh = names.filter((name) => !released.includes(name))
  for (const name of fresh) if (!(name in firstReleaseOn)) t.same(lossesOf(textOf(name)), [], name)
  t.comment(`${fresh.length} since ${newest.version}`)
})

t.test('the schema of the newest release is unchanged', async (t) => {
  const digest = createHash('sha256')
  for (const text of releasedTexts) digest.update(text)
  t.equal(digest.digest('hex'), newest.sha256)
})

t.test('statements that remove something are found', async (t) => {
  for (const statement of [
    'drop table roles',
    'drop table if exists public.roles cascade',
    'alter table roles drop column name',
    'alter table roles drop name',
    'alter table only public."roles" drop column if exists name',
    'ALTER TABLE roles\n  DROP COLUMN name',
    'alter table roles add column x text, drop column name',
    'alter table roles add column x text default $$;$$, drop column name',
    'alter table roles alter column name type varchar(10)',
    'alter table roles alter name set data type varchar(10)',
    'alter table roles rename to tenant_roles',
    'alter table roles rename column name to title',
    'alter table roles alter column description set not null',
    'alter table roles alter column version drop default',
    'alter table roles add column x text not null',
    'alter table roles add column x numeric(4, 2) not null',
    '-- contract: 99.0.0\nalter table roles drop column name',
    '-- contract: 0.1.0\ndrop table roles',
    'alter table roles disable row level security',
    'do $x$ begin alter table roles drop column name; end $x$',
    'drop trigger count_inserted on roles',
    'drop function if exists count_inserted_rows() cascade',
    "do $x$ begin for g in select 1 loop execute format('drop trigger %I on %s', g.a, g.b); end loop; end $x$",
    '-- contract: 99.0.0\ndrop trigger count_inserted on roles',
  ])
    t.equal(lossesOf(statement).length, 1, statement)
})

t.test('statements that add, or remove what a published release does not use, are allowed', async (t) => {
  for (const statement of [
    'create table parcels (id uuid not null); alter table parcels add column x text not null, drop column id; drop table parcels',
    'alter table roles add column x text',
    "alter table roles add column x text not null default 'drop column'",
    'alter table roles alter column name set default 1, alter column name set not null',
    'alter table roles add constraint short check (name is not null) not valid',
    'alter table roles drop constraint roles_check',
    'alter table roles alter column description drop not null',
    '-- drop column name\nalter table roles add x text',
    `-- contract: ${newest.version} has not read it since\nalter table roles drop column name`,
    `-- contract: ${newest.version} does not need it\ndrop trigger count_inserted on roles`,
    'create function f() returns trigger language plpgsql as $$ begin drop table roles; end $$',
  ])
    t.same(lossesOf(statement), [], statement)
})

t.test('no two migrations share a number, but the pairs that landed so', async (t) => {
  const numbers = names.map((name) => name.slice(0, 4))
  const twice = numbers.filter((number, at) => numbers.indexOf(number) !== at)
  t.same(twice, ['0121', '0172', '0173'])
})
