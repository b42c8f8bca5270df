import { type Browser, chromium } from 'playwright-core'
import type { Test } from 'tap'
import { chromiumPath } from '../../tools/console/chromium-path.ts'

export { chromiumPath }

/** False if a browser is installed, else why a test that needs one is skipped. */
export const noChromium: string | false = chromiumPath ? false : 'no chromium'

/**
 * Starts a browser without a window. Its sandbox does not work as root; the pages are ours. One renderer serves all
 * pages: starting one for each, and compiling the scripts there, took a tenth of the time.
 */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: chromiumPath!,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--renderer-process-limit=1'],
  })

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
  const browser = await launchChromium()
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  await page.goto(url)
  const session = await page.context().newCDPSession(page)
  const send: Tab['send'] = (method, params) => session.send(method as never, params as never)
  return {
    send,
    async evaluate(expression) {
      const asked = { expression, awaitPromise: true, returnByValue: true, userGesture: true }
      const { result, exceptionDetails } = await send('Runtime.evaluate', asked)
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
      return result.value
    },
  }
}
