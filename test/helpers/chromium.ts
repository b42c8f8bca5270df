import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { Test } from 'tap'
import { chromiumPath } from '../../src/console-toolchain/chromium-path.ts'

export { chromiumPath }

/** False if a browser is installed, else why a test that needs one is skipped. */
export const noChromium: string | false = chromiumPath ? false : 'no chromium'

// biome-ignore lint/suspicious/noExplicitAny: answers of the DevTools protocol
type Json = any

/** A tab of a browser without a window. */
export interface Tab {
  /** Sends a command of the DevTools protocol; returns its result. */
  send(method: string, params?: object): Promise<Json>
  /** The value of an expression in the page; waits if it is a promise. Rejects if it throws. */
  evaluate(expression: string): Promise<Json>
}

/** Opens a page in a new Chromium, which ends with the test. */
export async function openTab(t: Pick<Test, 'teardown'>, url: string): Promise<Tab> {
  const profile = await mkdtemp(join(tmpdir(), 'chromium-'))
  const flags = ['--headless=new', '--remote-debugging-pipe', `--user-data-dir=${profile}`, '--disable-gpu']
  // Chromium's sandbox does not work as root. The pages are ours.
  const more = [
    '--no-sandbox',
    '--no-first-run',
    '--disable-dev-shm-usage',
    '--disable-background-networking',
  ]
  const browser = spawn(chromiumPath!, [...flags, ...more], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  })
  const gone = new Promise((resolve) => browser.once('close', resolve))
  t.teardown(async () => {
    browser.kill('SIGKILL')
    await gone
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  })
  const send = commands(browser.stdio[3] as Writable, browser.stdio[4] as Readable)
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' })
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true })
  const tab: Tab = {
    send: (method, params) => send(method, params, sessionId),
    async evaluate(expression) {
      const asked = { expression, awaitPromise: true, returnByValue: true, userGesture: true }
      const { result, exceptionDetails } = await tab.send('Runtime.evaluate', asked)
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
      return result.value
    },
  }
  await tab.send('Page.enable')
  await tab.send('Page.navigate', { url })
  // A page can change the query of its address.
  const { origin, pathname } = new URL(url)
  const state = 'location.origin + location.pathname + document.readyState'
  for (let tries = 0; (await tab.evaluate(state)) !== `${origin}${pathname}complete`; tries++)
    if (tries > 10_000) throw new Error(`Chromium did not load ${url}`)
  return tab
}

/** Messages of the DevTools protocol are JSON that ends with a NUL byte. */
function commands(input: Writable, output: Readable) {
  const waiting = new Map<number, { resolve(result: Json): void; reject(error: Error): void }>()
  let last = 0
  let rest = ''
  output.setEncoding('utf8').on('data', (chunk: string) => {
    const messages = (rest + chunk).split('\0')
    rest = messages.pop() ?? ''
    for (const { id, result, error } of messages.map((text) => JSON.parse(text))) {
      const command = waiting.get(id)
      waiting.delete(id)
      if (error) command?.reject(new Error(error.message))
      else command?.resolve(result)
    }
  })
  output.on('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('Chromium ended'))
  })
  return (method: string, params: object = {}, sessionId?: string): Promise<Json> =>
    new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject })
      input.write(`${JSON.stringify({ id: last, method, params, ...(sessionId && { sessionId }) })}\0`)
    })
}
