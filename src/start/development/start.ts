import { startActors } from '../../../workers/actors.ts'
import { openWorkerDeps } from '../../../workers/deps.ts'
import { flag } from '../../cli/options.ts'
import { scriptOptions } from '../../cli/script-options.ts'
import { assertDatabaseIsSound } from '../../database/isolation/soundness.ts'
import type { Deps } from '../../deps.ts'
import { createLogger } from '../../observe/log.ts'
import { createMetrics } from '../../observe/metrics/metrics.ts'
import { beginTracing } from '../../observe/tracing/begin-tracing.ts'
import { bundleName, policiesFolder } from '../../policy-engine/evaluate/bundle.ts'
import { swappableEngine, watchBundle } from '../../policy-engine/evaluate/swap-engine.ts'
import { ensureBundle } from '../../policy-engine/opa/policies.ts'
import { readConfig, roleUrls } from '../../settings/config.ts'
import { version } from '../../settings/version.ts'
import { openEngine } from '../open-engine.ts'
import { serveApi } from '../serve.ts'
import { onStopSignal, reportAndExit } from '../stop-signal.ts'
import { buildConsole } from './build-console.ts'
import { type Development, openDevelopment } from './development.ts'
import { acquireInstanceLock } from './instance-lock.ts'
import { type DemoAccount, seedDemo } from './seed.ts'

/** Runs everything in one process, for development: Postgres, migrations, demo data, API, workers. */
async function main() {
  const given = scriptOptions('start', {
    'no-demo': flag('Without the demo tenant'),
    json: flag('Print one line of JSON'),
  })
  const settings = readConfig()
  const lock = await acquireInstanceLock(settings.DATA_DIR)
  const cleanups: (() => Promise<unknown>)[] = [() => lock.release()]
  const stop = async () => {
    for (const cleanUp of cleanups.reverse()) await cleanUp()
  }
  try {
    const building = settings.CONSOLE_ENABLED ? buildConsole() : []
    await ensureBundle({ production: false, print: () => undefined })
    const development = await openDevelopment(settings)
    cleanups.push(() => development.stop())
    const { config } = development
    const newerSchema = await assertDatabaseIsSound(roleUrls(config), config)
    const log = createLogger(given.json ? 'silent' : config.LOG_LEVEL, false, config.tracing)
    if (newerSchema) log.warn(newerSchema)
    const tracing = await beginTracing(config, { name: 'bailiwick', version }, log)
    cleanups.push(() => tracing.end())
    const metrics = createMetrics(version)
    const quiet = log.child({}, { level: given.json ? 'silent' : 'warn' })
    let served: Deps | undefined
    const workerDeps = await openWorkerDeps(config, quiet, Date.now, metrics, () => {
      if (!served) throw new Error('The API has not started')
      return served
    })
    cleanups.push(() => workerDeps.close())
    const actors = await startActors(workerDeps)
    cleanups.push(() => actors.stop())
    const engine = swappableEngine(await openEngine(config))
    const serving = await serveApi(config, log, { metrics, engine })
    cleanups.push(() => serving.stop())
    served = serving.deps
    // `npm run policies -- --watch` in another terminal builds the bundles that this takes.
    const say = (line: string, revision: string) => {
      metrics.policyRevision(revision)
      log.warn(line)
    }
    const endWatch = watchBundle(engine, {
      path: `${policiesFolder}${bundleName}`,
      folder: config.POLICIES_DIR,
      open: () => openEngine(config),
      say,
    })
    cleanups.push(async () => endWatch())
    const demo = given['no-demo'] ? null : await seedDemo(serving.deps)
    const url = serving.deps.publicUrl()
    const notes = [...development.notes, ...(await building)]
    await lock.announce(url)
    onStopSignal(stop, config.shutdownDelayMs)
    if (given.json) console.log(JSON.stringify({ url, pid: process.pid, data_dir: config.DATA_DIR }))
    else printBanner({ ...development, notes }, url, demo, performance.now())
  } catch (error) {
    await stop()
    throw error
  }
}

function printBanner(
  { config, database, notes }: Development,
  url: string,
  demo: DemoAccount[] | null,
  ms: number,
) {
  const [admin, auditor] = demo ?? []
  const lines = [
    ...notes,
    `Database  ${database}`,
    `Queues    ${config.REDIS_URL ? 'Redis' : 'Postgres (set REDIS_URL to use Redis)'}`,
    `Mail      ${config.SMTP_URL ? 'sent by SMTP' : `captured, ${url}/dev/mailbox`}`,
    ...(admin
      ? [`Admin     ${admin.email}  ${admin.password}   (Demo Ltd; shown once, admin:password gives another)`]
      : []),
    ...(auditor ? [`Auditor   ${auditor.email}  ${auditor.password}`] : []),
    ...(config.CONSOLE_ENABLED ? [`Console   ${url}/console/`] : []),
    `API docs  ${url}/docs      try it: npm run tour`,
    `Ready in ${(ms / 1000).toFixed(1)} s at ${url}`,
  ]
  console.log(lines.join('\n'))
}

main().catch(reportAndExit)
