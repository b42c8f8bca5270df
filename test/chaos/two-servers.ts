import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { type Config, readConfig } from '../../src/settings/config.ts'
import { openDevelopment } from '../../src/start/development/development.ts'
import {
  removeEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/start/development/embedded-postgres.ts'
import { query } from '../helpers/query.ts'
import { freePort } from '../workers/stage.ts'
import { type Standby, startStandby } from './standby.ts'

/** A primary and a standby that replicates it, and the configuration of a service on the primary. */
export interface TwoServers {
  config: Config
  /** a folder for the files of the test */
  folder: string
  primary: { home: string; url: string; port: number }
  standby: Standby
}

/** Starts both. `settings` are server settings of the primary, `env` those of the service. They end with the test. */
export async function startTwoServers(
  t: Test,
  settings: Record<string, string>,
  env: Record<string, string> = {},
): Promise<TwoServers> {
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-two-'))
  const dataDir = join(folder, 'primary')
  await chmod(folder, 0o711)
  t.teardown(async () => {
    await removeEmbeddedPostgres({ dataDir })
    await rm(folder, { recursive: true, force: true })
  })
  const development = await openDevelopment(
    readConfig({ NODE_ENV: 'test', DATA_DIR: dataDir, LOG_LEVEL: 'silent', PORT: '0', ...env }),
  )
  await development.stop()
  // Once more, only to learn its address: the copy must be of a server that has stopped.
  const first = await startEmbeddedPostgres({ dataDir, settings })
  const { folder: home, superuserUrl: url } = first
  await first.stop()
  await mkdir(join(folder, 'standby'))
  await chmod(join(folder, 'standby'), 0o711)
  const copy = join(folder, 'standby', 'postgres')
  const standby = await startStandby(home, copy, { url, port: await freePort() })
  t.teardown(() => standby.stop())
  await startEmbeddedPostgres({ dataDir, settings })
  while ((await query(url, "select 1 from pg_stat_replication where state = 'streaming'")).length === 0)
    await sleep(50)
  return {
    config: development.config,
    folder,
    primary: { home, url, port: Number(new URL(url).port) },
    standby,
  }
}

/** The address of one server, at the port of another. */
export const atPort = (url: string, port: number): string =>
  Object.assign(new URL(url), { port: String(port) }).href
