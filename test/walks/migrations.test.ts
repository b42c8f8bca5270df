import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { unpackPrevious } from '../upgrade/release.ts'

// The release before this one runs on the schema of this one while the processes are replaced, and again when they are
// taken back. So a migration only adds; what it takes away has to be unused since a release that is out.

const below = ['src', 'platform', 'db', 'migrations']
const here = join(import.meta.dirname, '..', '..', ...below)
const previous = await unpackPrevious(t)
const released = readdirSync(join(previous.folder, ...below))
const knownTables = released.flatMap((name) =>
  [
    ...readFileSync(join(previous.folder, ...below, name), 'utf8').matchAll(
      /^create (?:unlogged )?table (\w+)/gm,
    ),
  ].map(([, table]) => table ?? ''),
)

interface Statement {
  /** In lower case, spaces made single, without comments. */
  text: string
  /** Release named by `-- contract: <release>` above it. */
  contract?: string | undefined
}

/** The statements of a migration, those of `do` blocks too; bodies of functions are left out, for they run later. */
function statementsOf(migration: string): Statement[] {
  const bare = migration.replace(/\bdo\s+\$(\w*)\$\s*(?:begin)?([\s\S]*?)\$\1\$/gi, '$2')
  const parts = bare.replace(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''").split(';')
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

const isReleased = (version: string) => version.localeCompare(previous.version, 'en', { numeric: true }) <= 0

/** What a statement takes away from the release before; null where it only adds. */
function loss({ text, contract }: Statement): string | null {
  if (/^drop table\b/.test(text) && knownTables.some((name) => new RegExp(`\\b${name}\\b`).test(text)))
    return 'drops a table, and the release before does not start without it: empty it instead'
  const [, table = '', rest = ''] =
    /^alter table (?:if exists )?(?:only )?(?:public\.)?"?(\w+)"? (.*)$/.exec(text) ?? []
  if (!knownTables.includes(table) || (contract && isReleased(contract))) return null
  for (const clause of rest.split(/,(?![^(]*\))/).map((part) => part.trim())) {
    if (/^rename\b/.test(clause)) return 'renames what the release before knows'
    if (/^drop (?!constraint|not null|default|identity|expression)/.test(clause)) return 'drops a column'
    if (/^alter (column )?\S+ (set data )?type\b/.test(clause)) return 'changes the type of a column'
    if (/^alter (column )?\S+ drop default/.test(clause)) return 'drops a default that inserts may rely on'
    const [, column] = /^alter (?:column )?(\S+) set not null/.exec(clause) ?? []
    if (column && !new RegExp(`alter (column )?${column} set default`).test(rest))
      return 'sets a column not null that the release before may leave out'
    if (
      /^add (?!constraint|check|unique|primary|foreign|exclude)/.test(clause) &&
      /\bnot null\b/.test(clause) &&
      !/\b(default|generated)\b/.test(clause)
    )
      return 'adds a column that has to be given, and has no default'
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

t.test('migrations since the last release only add', async (t) => {
  const fresh = readdirSync(here).filter((name) => name.endsWith('.sql') && !released.includes(name))
  for (const name of fresh) t.same(lossesOf(readFileSync(join(here, name), 'utf8')), [], name)
  t.comment(`${fresh.length} since ${previous.version}`)
})

t.test('what takes away is found', async (t) => {
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
  ])
    t.equal(lossesOf(statement).length, 1, statement)
})

t.test('what adds is not, nor what is unused since a release that is out', async (t) => {
  for (const statement of [
    'create table parcels (id uuid not null); alter table parcels add column x text not null, drop column id; drop table parcels',
    'alter table roles add column x text',
    "alter table roles add column x text not null default 'drop column'",
    'alter table roles alter column name set default 1, alter column name set not null',
    'alter table roles add constraint short check (name is not null) not valid',
    'alter table roles drop constraint roles_check',
    'alter table roles alter column description drop not null',
    '-- drop column name\nalter table roles add x text',
    `-- contract: ${previous.version} has not read it since\nalter table roles drop column name`,
    'create function f() returns trigger language plpgsql as $$ begin drop table roles; end $$',
  ])
    t.same(lossesOf(statement), [], statement)
})
