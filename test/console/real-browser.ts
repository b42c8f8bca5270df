import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { chromiumPath } from '../helpers/chromium.ts'
import type { Service } from '../helpers/service.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const rules = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']

/** A real browser for the tests of a file. Without Chromium it opens nothing: the tests are skipped. */
export async function openChromium(t: Pick<Test, 'teardown'>, service: Service) {
  const args = ['--no-sandbox', '--disable-dev-shm-usage']
  const browser = chromiumPath ? await chromium.launch({ executablePath: chromiumPath, args }) : null
  t.teardown(() => browser?.close())

  /** A page whose faults fail the test: what the console logs, a policy refuses, or a script throws. */
  async function openPage(
    t: Pick<Test, 'teardown'>,
    { context, width = 1280 }: { context?: BrowserContext; width?: number } = {},
  ) {
    const own = context ?? (await browser!.newContext({ viewport: { width, height: 800 } }))
    if (!context) t.teardown(() => own.close())
    const page = await own.newPage()
    page.setDefaultTimeout(20_000)
    const faults: string[] = []
    page.on(
      'console',
      (message) => ['error', 'warning'].includes(message.type()) && faults.push(message.text()),
    )
    page.on('pageerror', (error) => faults.push(error.message))
    return { page, faults, own }
  }

  const go = async (page: Page, path: string, origin = service.url) => {
    await page.goto(`${origin}/console${path}`)
    await page.locator('h1').first().waitFor()
  }
  return { openPage, go }
}

export async function signIn(page: Page, { email, password }: { email: string; password: string }) {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** What axe finds, and whether the page is wider than the window. */
export async function assertSound(t: Test, page: Page, name: string) {
  await page.evaluate(axe)
  const found = await page.evaluate(async (values) => {
    // biome-ignore lint/suspicious/noExplicitAny: axe is a global of the page
    const { violations } = await (globalThis as any).axe.run({ runOnly: values })
    return violations.map((one: { id: string; nodes: { target: string[] }[] }) =>
      [one.id, ...one.nodes.map(({ target }) => target.join(' '))].join(' '),
    )
  }, rules)
  t.strictSame(found, [], `axe: ${name}`)
  t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `width: ${name}`)
}

export const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name })
