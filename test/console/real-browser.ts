import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, Page } from 'playwright-core'
import type { Test } from 'tap'
import { chromiumPath, sharedChromium } from '../helpers/chromium.ts'
import type { Service } from '../helpers/service.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const all = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']
/** Whether axe looks at each dialog and state of a page: nightly, and when tests are run by name. */
const looksAtAll = process.env.TEST_LOOK === 'true'
const ofLook = ['color-contrast', 'target-size']

/**
 * A real browser for the tests of a file. Without Chromium it opens nothing: the tests are skipped. The tests use one
 * context, one after the other, because its cache spares each the loading and compiling of the pages.
 */
export async function openChromium(t: Pick<Test, 'teardown'>, service: Service) {
  const browser = chromiumPath ? await sharedChromium(t) : null
  const newContext = async (width = 1280, javaScriptEnabled = true) =>
    browser!.newContext({ viewport: { width, height: 800 }, reducedMotion: 'reduce', javaScriptEnabled })
  const shared = browser ? await newContext() : null
  t.teardown(() => shared?.close())

  /**
   * A page whose faults fail the test: what the console logs, a policy refuses, a script throws, or is asked of another
   * site. It is signed out, unless `context` is that of another page. `beside` gives it a context of its own, beside the
   * other pages of a test; without `scripts`, pages run none there.
   */
  async function openPage(
    t: Pick<Test, 'teardown'>,
    {
      context,
      beside = false,
      width = 1280,
      scripts = true,
    }: { context?: BrowserContext; beside?: boolean; width?: number; scripts?: boolean } = {},
  ) {
    const own = context ?? (beside ? await newContext(width, scripts) : shared!)
    if (!context && !beside) await own.clearCookies()
    const page = await own.newPage()
    t.teardown(() => (beside ? own.close() : page.close()))
    if (width !== 1280) await page.setViewportSize({ width, height: 800 })
    page.setDefaultTimeout(300_000) // ms: a slow machine is no fault
    const faults: string[] = []
    page.on(
      'console',
      (message) => ['error', 'warning'].includes(message.type()) && faults.push(message.text()),
    )
    page.on('request', (request) => {
      const { protocol, hostname } = new URL(request.url())
      const isOwn = !/^(http|ws)s?:/.test(protocol) || ['localhost', '127.0.0.1'].includes(hostname)
      if (!isOwn) faults.push(`A request to another site: ${request.url()}`)
    })
    page.on('pageerror', (error) => faults.push(error.message))
    return { page, faults, own }
  }

  const go = async (page: Page, path: string, origin = service.url) => {
    await page.goto(`${origin}/console${path}`)
    await page.locator('h1').first().waitFor()
  }
  return { openPage, go }
}

/** Signs in on the pages of the service, where the console leads a browser without a session. */
export async function signIn(page: Page, { email, password }: { email: string; password: string }) {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Goes to a page by its link in the navigation, which loads no document. */
export async function follow(page: Page, path: string) {
  await page.locator(`.side a[href="/console${path}"]`).first().click()
  await page.waitForURL((url) => url.pathname === `/console${path}`)
  await page.locator('.page h1').first().waitFor()
  await page.locator('.ghost').first().waitFor({ state: 'detached' })
}

/** Goes to an address within the pages that are loaded. */
export async function visit(page: Page, path: string) {
  await page.evaluate(`history.pushState({}, '', ${JSON.stringify(`/console${path}`)})`)
  await page.locator('.page h1').first().waitFor()
}

// Colours move for some frames after a change: those that a child inherits after those of its parent.
const settled = `(async () => {
  const isMoving = (one) => one.playState === 'running' && one.effect.getComputedTiming().endTime < Infinity
  for (let still = 0; still < 4; still++) {
    await new Promise(requestAnimationFrame)
    const moving = document.getAnimations().filter(isMoving)
    if (moving.length > 0) still = -1
    await Promise.allSettled(moving.map(({ finished }) => finished))
  }
})()`

interface Found {
  violations: { id: string; nodes: { target: string[] }[] }[]
}

/**
 * What axe finds, and whether the page is wider than the window. An open dialog is looked at alone; the navigation, which
 * all pages share, only with `whole`; with `look`, only what the width and the colours change. axe takes a quarter of the time
 * of a page: `npm test` without names looks only where `always` is set, at each page as it opens.
 */
export async function assertSound(
  t: Test,
  page: Page,
  name: string,
  { whole = false, look = false, always = false }: { whole?: boolean; look?: boolean; always?: boolean } = {},
) {
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
  if (!looksAtAll && !always) return assertWidth(t, page, name)
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axe)
  const inDialog = (await page.locator('.dialog[data-open]').count()) > 0
  const context = inDialog ? { include: [['.dialog[data-open]']] } : { exclude: whole ? [] : [['.side']] }
  const options = { runOnly: look ? ofLook : all, resultTypes: ['violations'], preload: whole }
  const find = async () => {
    await page.evaluate(settled)
    return page.evaluate(
      async ({ options, context }) => {
        // biome-ignore lint/suspicious/noExplicitAny: axe is a global of the page
        const { violations } = (await (globalThis as any).axe.run(context, options)) as Found
        return violations.map(({ id, nodes }) =>
          [id, ...nodes.map(({ target }) => target.join(' '))].join(' '),
        )
      },
      { options, context },
    )
  }
  let found = await find()
  if (found.length > 0) {
    await sleep(500) // what the page still moved when axe looked is no fault
    found = await find()
  }
  t.strictSame(found, [], `axe: ${name}`)
  await assertWidth(t, page, name)
}

const assertWidth = async (t: Test, page: Page, name: string) =>
  t.strictSame(
    await page.evaluate(
      "[document.documentElement, ...document.querySelectorAll('.page')].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.tagName + one.className)",
    ),
    [],
    `width: ${name}`,
  )

/**
 * At 360 px: whether the page is wider than the window; with `look`, in the dark, what axe finds. The page has its width
 * and colours again afterwards.
 */
export async function assertNarrow(t: Test, page: Page, name: string, { look = false, always = false } = {}) {
  const before = page.viewportSize()!
  const theme = look ? 'dark' : 'light'
  await page.setViewportSize({ width: 360, height: 740 })
  await page.emulateMedia({ colorScheme: theme })
  await page.locator(`:root[data-theme=${theme}]`).waitFor()
  if (look) await assertSound(t, page, `${name} at 360 px`, { look, always })
  else await assertWidth(t, page, `${name} at 360 px`)
  await page.setViewportSize(before)
  await page.emulateMedia({ colorScheme: 'light' })
}

export const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name })
