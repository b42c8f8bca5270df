import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { memoryOf } from '../../../bench/cpu.ts'
import { startCollector } from '../../helpers/collector.ts'
import { disposableDatabase } from '../../helpers/database.ts'
import { productionSettings, startProcess } from '../../helpers/production.ts'
import { freePort } from '../../workers/stage.ts'

const { urls, drop } = await disposableDatabase()
t.teardown(drop)
const settings = await productionSettings(urls, 'smtp://127.0.0.1:9')

const lock = join(import.meta.dirname, '..', '..', '..', 'package-lock.json')

/**
 * Makes node print each OpenTelemetry package that it loads on standard error, and find no package that
 * `npm ci --omit=dev --omit=optional` leaves out, as in the image.
 */
const spy = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  import { readFileSync } from 'node:fs'
  const { packages } = JSON.parse(readFileSync(${JSON.stringify(lock)}, 'utf8'))
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      const [folder] = /node_modules\\/.*(?<=node_modules\\/)(@[^/]+\\/)?[^/]+/.exec(resolved.url) ?? []
      const { dev, optional, devOptional } = packages[folder] ?? {}
      if (!dev && !optional && !devOptional) return resolved
      throw Object.assign(new Error(specifier + ' is not for production'), { code: 'MODULE_NOT_FOUND' })
    },
    load(url, context, next) {
      const found = /@opentelemetry\\/([\\w-]+)/.exec(url)
      if (found) process.stderr.write('loads ' + found[1] + '\\n')
      return next(url, context)
    },
  })`)}`

const idle: Record<string, number> = {}

/** MB. The API returns the memory of its start after a second without a request. */
async function idleMemory(pid: number): Promise<number> {
  const until = Date.now() + 60_000
  for (; memoryOf(pid) >= 150 && Date.now() < until; ) await sleep(50)
  return memoryOf(pid)
}

async function loaded(name: 'api' | 'worker', more: Record<string, string>): Promise<string[]> {
  const running = await startProcess(t, name, { ...settings, ...more }, ['--import', spy])
  idle[name] ??= await idleMemory(running.child.pid!)
  const requests = Array.from({ length: name === 'api' ? 200 : 0 }, () => fetch(`${running.url}/healthz`))
  t.ok((await Promise.all(requests)).every(({ status }) => status === 200))
  const { code, ms } = await running.stop()
  t.equal(code, 0, running.printed.err)
  t.ok(ms < 20_000, `${ms} ms`)
  return [...new Set(running.printed.err.match(/(?<=loads )[\w-]+/g))].sort()
}

t.test(
  'production packages are enough to start, and without tracing nothing of the SDK is loaded; an unavailable collector fails no request and no exit',
  async (t) => {
    const { url } = await startCollector(t)
    const away = `http://127.0.0.1:${await freePort()}`
    const off = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SDK_DISABLED: 'true' }
    t.strictSame(await loaded('api', {}), ['api'])
    t.strictSame(await loaded('worker', off), ['api'])
    for (const [name, collector] of [
      ['api', away],
      ['worker', url],
    ] as const) {
      const on = await loaded(name, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector}/v1/traces` })
      t.ok(on.includes('sdk-trace') && on.includes('exporter-trace-otlp-proto'), `${name}: ${on.join(', ')}`)
    }
  },
)

// Without releaseStartMemory the API has 180 MB.
t.test('an idle process has returned the memory of its start', async (t) => {
  for (const [name, megabytes] of Object.entries(idle)) t.ok(megabytes < 150, `${name}: ${megabytes} MB`)
  t.comment(JSON.stringify(idle))
})
