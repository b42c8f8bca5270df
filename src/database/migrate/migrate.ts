import { createHash } from 'node:crypto'
import pg from 'pg'
import { isLockFailure, type LockRetries, withLockRetries } from '../executor/lock-retries.ts'
import { withConnection } from '../executor/with-connection.ts'
import { createLedger, listMigrations, type Migration, pendingMigrations } from './ledger.ts'
import { queueNames } from './queue-names.ts'
import { assertNoneIsTooOld } from './running-releases.ts'

/** The advisory lock of what changes the schema: one process at a time. */
const migrationLock = 0x0bad1

/**
 * Applies the missing migrations as the role bailiwick_owner, each in a transaction of its own; gives their names. Only
 * one process migrates at a time. The service can run meanwhile: a migration that does not get a lock soon gives up and
 * tries again. `url` is the address of the owner, or of a login that can create roles. Throws {@link OlderRunning}, unless
 * `force`d, while processes are connected that the new schema would break, and {@link BeforeBaseline} for a schema before 0.2.
 */
export async function migrate(
  url: string,
  roles: RoleUrls,
  { force = false, ...retries }: LockRetries & { force?: boolean } = {},
): Promise<string[]> {
  return withMigrationLock(url, async (client) => {
    await ensureRoles(client, roles)
    await client.query('set role bailiwick_owner')
    const withRetries = (what: string, work: () => Promise<unknown>) =>
      withLockRetries(client, what, work, retries)
    await withRetries('The list of migrations', () => client.query(createLedger))
    const pending = await pendingMigrations(client)
    const toRun = pending.filter(({ replaces }) => !replaces)
    if (!force) await assertNoneIsTooOld(client, toRun)
    for (const migration of pending) await withRetries(migration.name, () => apply(client, migration))
    const queueing = await import('bullmq') // slow to load, and the API only calls missingMigrations
    await withRetries('The schema of the queues', () => queueing.runMigrations(client as never, 'bullmq'))
    await withRetries('The grants on the queues', () => client.query(queueGrants))
    return pending.map((m) => m.name)
  })
}

/** Runs `work` on a connection of its own while no other process changes the schema. */
export const withMigrationLock = <T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
  applicationName = 'bailiwick-migrate',
): Promise<T> =>
  withConnection(url, applicationName, async (client) => {
    await client.query('select pg_advisory_lock($1)', [migrationLock])
    return work(client)
  })

/**
 * Begins a transaction of the owner of the tables, which can read the rows of all tenants before it changes them. On Citus that, and foreign
 * keys between tables of tenants and those that every node has, need one connection for each node; elsewhere the setting means nothing.
 */
export async function beginAsOwner(client: pg.ClientBase): Promise<void> {
  await client.query('set role bailiwick_owner')
  await client.query("begin; set local citus.multi_shard_modify_mode = 'sequential'")
}

/** Names of the migrations that are not applied yet, read as a run-time role. The service does not start with any. */
export const missingMigrations = (url: string): Promise<string[]> =>
  withConnection(url, 'bailiwick-migrate-check', findMissingMigrations)

/** The same over a connection that is open. */
export async function findMissingMigrations(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query("select to_regclass('public.schema_migrations') is not null as there")
  const missing = rows[0].there ? await pendingMigrations(client) : await listMigrations()
  return missing.map((m) => m.name)
}

/**
 * Only workers can use the queues' schema, because jobs have no row-level security. BullMQ would create a sequence with
 * the first job of a queue. They are created here, so that workers need no right to create anything.
 */
const queueGrants = `
  ${queueNames
    .map(
      (name) =>
        `create sequence if not exists bullmq.bullmq_jid_${createHash('md5').update(name).digest('hex')};`,
    )
    .join('\n')}
  grant usage on schema bullmq to bailiwick_worker;
  grant select, insert, update, delete on all tables in schema bullmq to bailiwick_worker;
  grant usage, select, update on all sequences in schema bullmq to bailiwick_worker;
  grant execute on all functions in schema bullmq to bailiwick_worker`

async function apply(client: pg.ClientBase, migration: Migration): Promise<void> {
  await beginAsOwner(client)
  try {
    if (migration.replaces)
      await client.query('delete from schema_migrations where name = any($1)', [migration.replaces])
    else for (const statement of migration.statements) await client.query(statement)
    await client.query('insert into schema_migrations (name, checksum, applied_at) values ($1, $2, now())', [
      migration.name,
      migration.checksum,
    ])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    if (isLockFailure(error)) throw error // the caller retries it
    throw new Error(`Migration ${migration.name} failed and changed nothing`, { cause: error })
  }
}

/** Addresses of the three run-time roles. A role gets its password from there when it is created. */
export interface RoleUrls {
  api: string
  system: string
  worker: string
}

/** The roles of `urls` with their addresses, in a fixed order. */
export const rolesOf = (urls: Partial<RoleUrls>): [keyof RoleUrls, string][] =>
  (['api', 'system', 'worker'] as const).flatMap((role) => {
    const url = urls[role]
    return url === undefined ? [] : [[role, url] satisfies [keyof RoleUrls, string]]
  })

/** Creates the missing roles. It needs CREATEROLE only when there are any. */
async function ensureRoles(client: pg.ClientBase, urls: RoleUrls): Promise<void> {
  const wanted = {
    bailiwick_owner: '',
    bailiwick_api: urls.api,
    bailiwick_system: urls.system,
    bailiwick_worker: urls.worker,
  }
  const { rows } = await client.query<{ rolname: string }>(
    'select rolname from pg_roles where rolname = any($1)',
    [Object.keys(wanted)],
  )
  const { rows: citus } = await client.query("select from pg_extension where extname = 'citus'")
  // A coordinator of Citus connects to its nodes as the current role, so there the owner has to log in, too.
  const loginOf = (name: string) => (name === 'bailiwick_owner' && citus.length > 0 ? 'login' : 'nologin')
  const missing = Object.entries(wanted).filter(([name]) => !rows.some((row) => row.rolname === name))
  for (const [name, url] of missing) {
    // The address can name another login, which is a member of the role. Then the role itself needs no login.
    const own = url && new URL(url).username === name ? new URL(url) : null
    const password = own ? decodeURIComponent(own.password) : ''
    // A client certificate proves who connects, in place of a password.
    const withoutPassword = own?.searchParams.has('sslcert') ? 'login' : loginOf(name)
    const login = password ? `login password ${pg.escapeLiteral(password)}` : withoutPassword
    await client.query(`create role ${name} ${login} nosuperuser nobypassrls nocreatedb nocreaterole`)
  }
  const { rows: me } = await client.query<{ owner: boolean; database: string }>(
    "select current_user = 'bailiwick_owner' as owner, current_database() as database",
  )
  if (me[0]!.owner) return
  const database = pg.escapeIdentifier(me[0]!.database)
  await client.query(`
    revoke temporary on database ${database} from public; -- a temporary table could hide a real one
    grant bailiwick_owner to current_user;
    grant create, temporary, connect on database ${database} to bailiwick_owner;
    grant temporary on database ${database} to bailiwick_worker;
    grant create, usage on schema public to bailiwick_owner`)
}
