import { Misuse } from '../src/cli/options.ts'
import { refuseUsage, scriptArguments } from '../src/cli/script-options.ts'
import { assertAnswers, assertDatabaseIsSound, UnsoundDatabase } from '../src/database/isolation/soundness.ts'
import { WrongSecretKeys } from '../src/database/reseal.ts'
import { PortTaken } from '../src/http/listen.ts'
import { describeError, originOf } from '../src/observe/describe-error.ts'
import { createLogger } from '../src/observe/log.ts'
import { beginTracing } from '../src/observe/tracing/begin-tracing.ts'
import { createWorkerReadiness, readySample } from '../src/pages/health.ts'
import { openManagementPort } from '../src/pages/management-port.ts'
import { lowerThreadPriority } from '../src/policy-engine/sandbox/thread-priority.ts'
import { ConfigError, readConfig, roleUrls } from '../src/settings/config.ts'
import { version } from '../src/settings/version.ts'
import { releaseStartMemory } from '../src/start/release-start-memory.ts'
import { assertAreActors, startActors } from './actors.ts'
import { openWorkerDeps, UnboundRole, WorkerSettingsMissing } from './deps.ts'

const hardLimit = 25_000

/** Starts the actors named on the command line, or all, and runs until SIGTERM or SIGINT. */
async function main(): Promise<void> {
  const { words: names } = scriptArguments('worker', {})
  assertAreActors(names)
  lowerThreadPriority() // requests to an API on the same machine come first
  const config = readConfig(undefined, ['worker'])
  const log = createLogger(config.LOG_LEVEL, config.production, config.tracing)
  await assertAnswers({ DATABASE_WORKER_URL: config.DATABASE_WORKER_URL })
  const tracing = await beginTracing(config, { name: 'bailiwick-worker', version }, log)
  const deps = await openWorkerDeps(config, log)
  const passedOver = await assertDatabaseIsSound(roleUrls(config, ['worker']), config)
  if (passedOver) log.warn(passedOver)
  let atWork = () => false
  const readiness = createWorkerReadiness(deps.db, deps.clock, () => atWork())
  deps.metrics.source('readiness', readySample(readiness))
  const management = await openManagementPort(config, { ...deps, readiness })
  releaseStartMemory()
  const running = await startActors(deps, names).catch(async (error) => {
    await management.close()
    await deps.close()
    throw error
  })
  atWork = running.areRunning
  let stopping = false
  const stop = async (signal: string) => {
    if (stopping) return
    stopping = true
    log.info({ signal }, 'stopping')
    setTimeout(() => process.exit(0), hardLimit).unref() // another process handles messages that still hang
    readiness.drain()
    await running.stop()
    await management.close()
    await deps.close()
    await tracing.end()
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => stop(signal))
}

const forOperators = [
  ConfigError,
  PortTaken,
  WorkerSettingsMissing,
  UnboundRole,
  UnsoundDatabase,
  WrongSecretKeys,
]

main().catch((error) => {
  if (error instanceof Misuse) refuseUsage('worker', error.message)
  const expected = forOperators.some((kind) => error instanceof kind)
  console.error(expected ? error.message : [describeError(error), ...originOf(error)].join('\n  '))
  process.exit(1)
})
