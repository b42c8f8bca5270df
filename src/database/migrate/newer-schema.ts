import type pg from 'pg'
import { listMigrations } from './ledger.ts'

/** What a database has that this release does not know. Both lists are empty for a schema of the same release. */
export interface NewerSchema {
  /** Names of applied migrations of a newer release. */
  migrations: string[]
  /** Tables that this release does not know, and therefore does not check. */
  tables: { oid: number; name: string }[]
}

/**
 * Finds out whether a newer release migrated the database (this release can still serve it), and which tables only that
 * release knows. It trusts the list of migrations only: bailiwick_owner alone writes it, which a check
 * of the catalogue proves. An unknown migration that does not come after our newest is not one of a newer release.
 */
export async function findNewerSchema(client: pg.ClientBase): Promise<NewerSchema> {
  const own = await listMigrations()
  // `only` excludes tables that inherit from the list, because other roles could write those.
  const { rows } = await client.query<{ name: string }>(
    'select name from only public.schema_migrations order by name',
  )
  const newest = numberOf(own.at(-1)!.name)
  const migrations = rows.map(({ name }) => name).filter((name) => numberOf(name) > newest)
  if (migrations.length === 0) return { migrations, tables: [] }
  const { rows: tables } = await client.query<NewerSchema['tables'][number]>(unknownTables, [
    await listKnownTables(),
  ])
  return { migrations, tables }
}

const numberOf = (name: string) => Number(/^(\d{4})-/.exec(name)?.[1] ?? 0)

/** The tables that this release's schema creates. It uses all of them. */
export async function listKnownTables(): Promise<string[]> {
  return ['schema_migrations', ...tablesIn((await listMigrations()).map(({ text }) => text))]
}

/** The tables that statements create, by the names that they end with. */
export function tablesIn(texts: string[]): string[] {
  const found = (pattern: RegExp) => texts.flatMap((text) => [...text.matchAll(pattern)])
  const renamed = new Map(
    found(/^alter table (\w+) rename to (\w+)/gm).map(([, from = '', to = '']) => [from, to]),
  )
  return found(/^create (?:unlogged )?table (\w+)/gm)
    .map(([, name = '']) => renamed.get(name) ?? name)
    .sort()
}

/** Inheritance exposes a table's rows in other tables, so relatives of a known table count as known. */
const unknownTables = `
  with recursive public_tables as (
      select c.oid, relname::text as name from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
        and not exists (select 1 from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')),
    known as (
      select oid from public_tables where name = any ($1)
      union select case when inhrelid = k.oid then inhparent else inhrelid end
        from known k join pg_inherits on k.oid in (inhrelid, inhparent))
  select oid, name from public_tables where oid not in (select oid from known) order by name`
