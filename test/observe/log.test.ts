import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'

const logger = new URL('../../src/observe/log.ts', import.meta.url)
const signals = new URL('../../src/start/stop-signal.ts', import.meta.url)

/**
 * A process that logs numbers from 0 on in the production format. At its end it prints their count on standard error.
 */
function startLogging(end: string) {
  const script = `
    import { createLogger } from '${logger}'
    import { onStopSignal } from '${signals}'
    const log = createLogger('info', true)
    let n = 0
    process.on('exit', () => process.stderr.write('lines ' + n))
    setInterval(() => { for (let i = 0; i < 7; i++) log.info({ n: n++ }) }, 1)
    ${end}`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', script])
  return { child, exit: once(child, 'exit'), printed: Promise.all([text(child.stdout), text(child.stderr)]) }
}

for (const [name, end, code] of [
  ['at SIGTERM', 'onStopSignal(async () => undefined)', 0],
  ['at a crash', `process.on('SIGTERM', () => { throw new Error('made') })`, 1],
] as const)
  t.test(`${name} no line of the log is lost, doubled or out of order`, async (t) => {
    const { child, exit, printed } = startLogging(end)
    await once(child.stdout, 'data')
    await sleep(100)
    child.kill('SIGTERM')
    t.same(await exit, [code, null])
    const [lines, told] = await printed
    const count = Number(/lines (\d+)/.exec(told)?.[1])
    t.ok(count > 0, `${count} lines`)
    t.same(
      lines
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).n),
      Array.from({ length: count }, (_, n) => n),
    )
  })

t.test('a line does not wait for others', async (t) => {
  const script = `
    import { createLogger } from '${logger}'
    createLogger('info', true).info('alone')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', script])
  const [part] = await once(child.stdout, 'data')
  child.kill()
  t.match(JSON.parse(part), { msg: 'alone' })
})
