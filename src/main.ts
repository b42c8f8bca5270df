import { readConfig, roleUrls } from './config.ts'
import { assertDatabaseIsSound } from './platform/db/soundness.ts'
import { createLogger } from './platform/log.ts'
import { serveApi } from './serve.ts'
import { onStopSignal, reportAndExit } from './stop-signal.ts'

const roles = ['api', 'system'] as const

/** The API process: configuration, a sound database, listen, drain. */
async function main() {
  const config = readConfig(undefined, roles)
  const log = createLogger(config.LOG_LEVEL, config.production)
  const passedOver = await assertDatabaseIsSound(roleUrls(config, roles))
  if (passedOver) log.warn(passedOver)
  const serving = await serveApi(config, log)
  log.info({ url: serving.url }, `Listening on ${serving.url}`)
  onStopSignal(() => serving.stop())
}

main().catch(reportAndExit)
