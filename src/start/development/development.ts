import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { withConnection } from '../../database/executor/with-connection.ts'
import { migrate, missingMigrations, type RoleUrls } from '../../database/migrate/migrate.ts'
import { type Config, ConfigError } from '../../settings/config.ts'
import { startEmbeddedPostgres } from './embedded-postgres.ts'

/** A development database: the configuration that names it, texts for the user, and how to stop it. */
export interface Development {
  config: Config
  /** One line: which Postgres, where. */
  database: string
  notes: string[]
  stop(): Promise<void>
}

const keptSecrets = z.object({
  secretKey: z.string(),
  api: z.string(),
  system: z.string(),
  worker: z.string(),
})

/**
 * Prepares a database for development and gives the complete configuration: an embedded Postgres unless DATABASE_URL is
 * set, run-time roles, secrets that are kept in DATA_DIR, the newest schema. Throws {@link ConfigError} in production,
 * where nothing is generated.
 */
export async function openDevelopment(config: Config): Promise<Development> {
  if (config.production)
    throw new ConfigError([
      'npm start is for development. In production run: npm run cli -- migrate, npm run api and npm run worker',
    ])
  const dataDir = resolve(config.DATA_DIR)
  await mkdir(dataDir, { recursive: true })
  const secrets = await readSecrets(join(dataDir, 'development-secrets.json'))
  const postgres = config.DATABASE_URL ? undefined : await startEmbeddedPostgres({ dataDir })
  try {
    const ownerUrl = config.DATABASE_URL ?? (await ensureDatabase(postgres!.superuserUrl))
    const urls = runtimeUrls(config, ownerUrl, secrets)
    if (!(await isUpToDate(urls))) await migrate(ownerUrl, urls)
    return {
      config: Object.freeze({
        ...config,
        DATABASE_API_URL: urls.api,
        DATABASE_SYSTEM_URL: urls.system,
        DATABASE_WORKER_URL: urls.worker,
        SECRET_KEYS: config.SECRET_KEYS ?? [Buffer.from(secrets.secretKey, 'base64url')],
      }),
      database: postgres
        ? `embedded Postgres 18 in ${config.DATA_DIR}/ (set DATABASE_URL to use yours)`
        : `${new URL(ownerUrl).host}${new URL(ownerUrl).pathname}`,
      notes: postgres?.notes ?? [],
      stop: async () => postgres?.stop(),
    }
  } catch (error) {
    await postgres?.stop()
    throw error
  }
}

async function readSecrets(file: string): Promise<z.infer<typeof keptSecrets>> {
  const fresh = () => randomBytes(32).toString('base64url')
  const generated = { secretKey: fresh(), api: fresh(), system: fresh(), worker: fresh() }
  await writeFile(file, JSON.stringify(generated), { mode: 0o600, flag: 'wx' }).catch((error) => {
    if (error.code !== 'EEXIST') throw error
  })
  return keptSecrets.parse(JSON.parse(await readFile(file, 'utf8')))
}

const databaseName = 'bailiwick'

async function ensureDatabase(superuserUrl: string): Promise<string> {
  await withConnection(superuserUrl, 'bailiwick-development', async (client) => {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [databaseName])
    if (!rowCount) await client.query(`create database ${databaseName}`)
  })
  const url = new URL(superuserUrl)
  url.pathname = `/${databaseName}`
  return url.href
}

function runtimeUrls(config: Config, ownerUrl: string, secrets: z.infer<typeof keptSecrets>): RoleUrls {
  const urlOf = (role: 'api' | 'system' | 'worker') => {
    const url = new URL(ownerUrl)
    url.username = `bailiwick_${role}`
    url.password = secrets[role]
    return url.href
  }
  return {
    api: config.DATABASE_API_URL ?? urlOf('api'),
    system: config.DATABASE_SYSTEM_URL ?? urlOf('system'),
    worker: config.DATABASE_WORKER_URL ?? urlOf('worker'),
  }
}

/** Connects as a run-time role, so that a database without the roles counts as not up to date. */
const isUpToDate = (urls: RoleUrls) =>
  missingMigrations(urls.api).then(
    (missing) => missing.length === 0,
    () => false,
  )
