import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type pg from 'pg'
import { statementsIn } from '../cluster/statements-in.ts'

const migrations = new URL('../migrations/', import.meta.url)
const schema = new URL('../schema/', import.meta.url)

/** The files of `schema/` in order: one a context, and then what leads from one context to another. */
const schemaFiles = [
  'database',
  'tenancy',
  'identity',
  'authorization',
  'messages',
  'events',
  'installation',
  'foreign-keys',
]

/** The migrations of release 0.2, which the baseline replaces: the last of 51, and a digest of their rows in the ledger. */
const replaced = {
  last: '0090-sessions-ended.sql',
  digest: '888312b7aedd1bab65a5aca10010223c6aaa40a3697e5d0b33df878b2dfb3c95',
}

/** One step of the schema, with the SHA-256 of its text. */
export interface Migration {
  name: string
  text: string
  /** What is sent one after the other. */
  statements: string[]
  checksum: string
  /** Of the baseline, on a database that has its tables: the rows of the ledger whose place it takes. Its text does not run. */
  replaces?: string[]
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** The schema of release 0.2. It comes before all migrations, whatever its number says. */
export async function readBaseline(): Promise<Migration> {
  const texts = await Promise.all(schemaFiles.map((name) => readFile(new URL(`${name}.sql`, schema), 'utf8')))
  const text = texts.join('\n')
  return { name: '0100-baseline', text, statements: [text], checksum: sha256(text) }
}

/** The baseline, and the migrations in order. Once released, a name is never reused and a text never changes. */
export async function listMigrations(): Promise<Migration[]> {
  const names = (await readdir(migrations)).filter((name) => name.endsWith('.sql')).sort()
  const later = names.map(async (name) => {
    const text = await readFile(new URL(name, migrations), 'utf8')
    return { name, text, statements: statementsIn(text), checksum: sha256(text) }
  })
  return Promise.all([readBaseline(), ...later])
}

/** The ledger: what was applied to this database. */
export const createLedger = `
  create table if not exists schema_migrations (name text primary key, checksum text not null, applied_at timestamptz not null);
  grant select on schema_migrations to bailiwick_api, bailiwick_system, bailiwick_worker`

/** The database is of a release before 0.2. The message is for an operator. */
export class BeforeBaseline extends Error {}

/**
 * The migrations that are not applied yet. Throws when an applied one was edited, and {@link BeforeBaseline} if the ledger is that of
 * an earlier release than 0.2.
 */
export async function pendingMigrations(client: pg.ClientBase): Promise<Migration[]> {
  const { rows } = await client.query<{ name: string; checksum: string }>(
    'select name, checksum from public.schema_migrations',
  )
  const applied = new Map(rows.map((row) => [row.name, row.checksum]))
  const all = await listMigrations()
  const edited = all.filter((m) => applied.has(m.name) && applied.get(m.name) !== m.checksum)
  if (edited.length > 0)
    throw new Error(
      `Applied migrations were edited: ${edited.map((m) => m.name).join(', ')}. Add a new one instead.`,
    )
  const pending = all.filter((m) => !applied.has(m.name))
  const [first] = pending
  if (first?.name === all[0]!.name && applied.size > 0) first.replaces = rowsToReplace(rows)
  return pending
}

/** The names of the 51 rows of release 0.2; throws unless exactly these are there, each with its checksum. */
function rowsToReplace(rows: { name: string; checksum: string }[]): string[] {
  const old = rows.filter(({ name }) => name <= replaced.last).sort((a, b) => (a.name < b.name ? -1 : 1))
  if (sha256(old.map(({ name, checksum }) => `${name} ${checksum}\n`).join('')) !== replaced.digest)
    throw new BeforeBaseline(
      `The migrations of this database (schema_migrations, ${old.length} up to ${replaced.last}) are not the 51 of release 0.2. Nothing was changed: upgrade to 0.2 first. Check out its commit, which CHANGELOG.md names, run npm run cli -- migrate there, and then migrate with this release.`,
    )
  return old.map(({ name }) => name)
}
