import { type Browser, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { chromiumPath } from '../../tools/console/chromium-path.ts'
import { atProcessEnd } from './shared-service.ts'

export { chromiumPath }

/** False if a browser is installed, else why a test that needs one is skipped. */
export const noChromium: string | false = chromiumPath ? false : 'no chromium'

let shared: Promise<Browser> | undefined

/**
 * A browser without a window, which the files of one process share: close its contexts, not itself. Its sandbox does not
 * work as root; the pages are ours. One renderer serves all pages of a context: starting one for each, and compiling the
 * scripts there, took a tenth of the time.
 */
export async function sharedChromium(t: Pick<Test, 'teardown'>): Promise<Browser> {
  if (shared && (await shared).isConnected()) return shared
  const launched = chromium.launch({
    executablePath: chromiumPath!,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--renderer-process-limit=1'],
  })
  shared = launched
  atProcessEnd(t, async () => (await launched).close())
  return launched
}

// biome-ignore lint/suspicious/noExplicitAny: answers of the DevTools protocol
type Json = any

/**
 * Gives a page an authenticator for passkeys, which answers at once and has verified its person. `setVerified` says whether it
 * verifies them from now on.
 */
export async function addAuthenticator(page: Page) {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    setVerified: (isUserVerified: boolean) =>
      devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
  }
}

/** A tab of a browser without a window. */
export interface Tab {
  page: Page
  /** The value of an expression in the page; waits if it is a promise. Rejects if it throws. */
  evaluate(expression: string): Promise<Json>
}

/** Opens a page in a context of its own, which ends with the test. */
export async function openTab(t: Pick<Test, 'teardown'>, url: string): Promise<Tab> {
  const page = await (await sharedChromium(t)).newPage()
  t.teardown(() => page.context().close())
  await page.goto(url)
  const session = await page.context().newCDPSession(page)
  return {
    page,
    async evaluate(expression) {
      const asked = { expression, awaitPromise: true, returnByValue: true, userGesture: true }
      const { result, exceptionDetails } = await session.send('Runtime.evaluate', asked)
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
      return result.value
    },
  }
}
