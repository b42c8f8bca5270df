import type { Logger } from 'pino'
import { scriptOptions } from '../cli/script-options.ts'
import { assertAnswers, assertDatabaseIsSound } from '../database/isolation/soundness.ts'
import { createLogger } from '../observe/log.ts'
import { beginTracing } from '../observe/tracing/begin-tracing.ts'
import { type Config, readConfig, roleUrls } from '../settings/config.ts'
import { version } from '../settings/version.ts'
import { releaseStartMemoryWhenIdle } from './release-start-memory.ts'
import { serveApi } from './serve.ts'
import { onStopSignal, reportAndExit } from './stop-signal.ts'

const roles = ['api', 'system'] as const

/** The API process: configuration, a sound database, listen, drain. */
async function main() {
  scriptOptions('api', {})
  const config = readConfig(undefined, roles)
  const log = createLogger(config.LOG_LEVEL, config.production, config.tracing)
  const tracing = await beginTracing(config, { name: 'bailiwick-api', version }, log)
  const serving = await serveApi(config, log, {
    databaseIsSound: assertDatabasesAreSound(config, log),
    afterListening: releaseStartMemoryWhenIdle,
    connectsAtStart: true,
  })
  log.info({ url: serving.url }, `Listening on ${serving.url}`)
  onStopSignal(async (signal) => {
    log.info({ signal }, 'stopping')
    await serving.stop()
    await tracing.end()
  }, config.shutdownDelayMs)
}

async function assertDatabasesAreSound(config: Config, log: Logger): Promise<void> {
  const note = await assertDatabaseIsSound(roleUrls(config, roles), config)
  if (note) log.warn(note)
  const { DATABASE_READ_URL } = config
  await assertAnswers({ DATABASE_READ_URL })
  if (DATABASE_READ_URL) await assertDatabaseIsSound({ api: DATABASE_READ_URL }, config)
}

main().catch(reportAndExit)
