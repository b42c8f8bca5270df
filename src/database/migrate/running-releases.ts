import type pg from 'pg'
import { version } from '../../settings/version.ts'

/** The migrations on whose schema earlier releases do not work, and the first release that does. */
export const firstReleaseOn: Readonly<Record<string, string>> = {
  '0100-baseline': '0.2.0',
  // Inserts memberships without the copies.
  '0137-copies-of-people.sql': '0.3.0',
  // Reads the people of a tenant in `users`.
  '0139-own-row-of-users.sql': '0.3.0',
  // Its table of cookies has another name.
  '0140-browser-sessions.sql': '0.3.0',
}

/** The `application_name` of a process's connections: its kind, and the release, for `migrate`. */
export const connectionName = (kind: 'api' | 'worker' | 'queues' | 'relay'): string =>
  `bailiwick-${kind}/${version}`

/** The message is for an operator. */
export class OlderRunning extends Error {}

/**
 * Throws {@link OlderRunning} if processes are connected that would do wrong on the schema of these migrations. Releases
 * before 0.3 do not say which they are, so each of their connections counts.
 */
export async function assertNoneIsTooOld(
  client: pg.ClientBase,
  migrations: readonly { name: string }[],
): Promise<void> {
  const needed = migrations.flatMap(({ name }) => firstReleaseOn[name] ?? []).sort(compareReleases)
  const first = needed.at(-1)
  if (!first) return
  const { rows } = await client.query<{ name: string; count: string }>(
    `select application_name as name, count(*) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()
       and (usename in ('bailiwick_api', 'bailiwick_system', 'bailiwick_worker') or application_name ~ '^bailiwick-(api|worker)')
     group by 1 order by 1`,
  )
  const older = rows.filter(({ name }) => compareReleases(releaseOf(name), first) < 0)
  if (older.length === 0) return
  const found = older.map(({ name, count }) => `${name || 'unnamed'} (${count})`).join(', ')
  throw new OlderRunning(
    `Processes of a release before ${first} are connected, which would store wrong data on the new schema: ${found}. Nothing was changed. Stop them, and migrate again; --force migrates nevertheless.`,
  )
}

const releaseOf = (name: string) => /^bailiwick-\w+\/(\d+\.\d+\.\d+)/.exec(name)?.[1] ?? '0'

const compareReleases = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true })
