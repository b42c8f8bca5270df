import type pg from 'pg'
import { listMigrations } from './migrate.ts'

/** What a database has beyond this release; on a schema of the same release both are empty. */
export interface NewerSchema {
  /** Names of applied migrations of a newer release. */
  migrations: string[]
  /** Tables that this release knows nothing about, and therefore leaves to the release that made them. */
  tables: { oid: number; name: string }[]
}

/**
 * Tells whether a newer release migrated the database, so that this one can go on serving beside it, and which tables
 * are that release's alone. The list of migrations is all that is believed: only bailiwick_owner writes it, which
 * a check of the catalogue proves. An unknown name that does not come after our newest is no newer release.
 */
export async function findNewerSchema(client: pg.ClientBase): Promise<NewerSchema> {
  const own = await listMigrations()
  // `only`: a table that inherits from the list would be read with it, and is written by whoever may write that one.
  const { rows } = await client.query<{ name: string }>(
    'select name from only public.schema_migrations order by name',
  )
  const newest = numberOf(own.at(-1)!.name)
  const migrations = rows.map(({ name }) => name).filter((name) => numberOf(name) > newest)
  if (migrations.length === 0) return { migrations, tables: [] }
  const known = tablesIn(own.map(({ text }) => text))
  return { migrations, tables: (await client.query(unknownTables, [known])).rows }
}

const numberOf = (name: string) => Number(/^(\d{4})-/.exec(name)?.[1] ?? 0)

/** The tables that this release's own migrations make; it uses all of them. */
export async function listKnownTables(): Promise<string[]> {
  return tablesIn((await listMigrations()).map(({ text }) => text))
}

const tablesIn = (texts: string[]) => [
  'schema_migrations',
  ...texts
    .flatMap((text) => [...text.matchAll(/^create (?:unlogged )?table (\w+)/gm)].map(([, name = '']) => name))
    .sort(),
]

/** Rows of a table are also read through its ancestors and its heirs: what is related to a known one is known. */
const unknownTables = `
  with recursive public_tables as (
      select c.oid, relname::text as name from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
        and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')),
    known as (
      select oid from public_tables where name = any ($1)
      union select case when inhrelid = k.oid then inhparent else inhrelid end
        from known k join pg_inherits on k.oid in (inhrelid, inhparent))
  select oid, name from public_tables where oid not in (select oid from known) order by name`
