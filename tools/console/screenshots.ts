import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { startEmbeddedPostgres } from '../../src/start/development/embedded-postgres.ts'
import { type Account, seedFirm } from '../../src/start/development/seed-firm.ts'
import { chromiumPath } from './chromium-path.ts'
import { maxBytes, pictureOf } from './picture.ts'
import { shootSignIn } from './sign-in-screenshots.ts'

// npm run console -- --screenshots: pictures of the main pages, and of those where people sign in, from a development service with a seeded firm.

const root = join(import.meta.dirname, '..', '..')

interface Shot {
  name: string
  path: string
  /** Links that are followed before the picture, by accessible name. */
  click?: readonly string[]
  /** Fields that are filled in then, by label. */
  fill?: Readonly<Record<string, string>>
  /** What has to appear, as a selector. */
  until?: string
  dark?: boolean
  narrow?: boolean
  height?: number
}

const shots: readonly Shot[] = [
  { name: 'overview', path: '/' },
  { name: 'overview-dark', path: '/', dark: true },
  { name: 'members', path: '/members' },
  { name: 'members-dark', path: '/members', dark: true },
  { name: 'members-narrow', path: '/members', narrow: true },
  { name: 'approval', path: '/approvals', click: ['Delete member'] },
  { name: 'webhook', path: '/webhooks', click: ['https://erp.northwind.example/hooks/people'] },
  { name: 'application', path: '/applications', click: ['Grafana'], height: 1020 },
  { name: 'events', path: '/events' },
  { name: 'policies', path: '/policies' },
  {
    name: 'playground',
    path: '/policies',
    click: ['No invitations at night', 'Try in the playground'],
    fill: { 'With these roles': 'support' },
    until: '.trace',
    height: 960,
  },
  { name: 'audit-dark', path: '/audit', dark: true },
  { name: 'organisation', path: '/organisation' },
]

/**
 * Writes `console-<name>.webp` of each page to `folder`, and `sign-in-<name>.webp`; or only those of `paths`. Throws if one is
 * above 60 kB.
 */
export async function takeScreenshots({ folder, paths }: { folder: string; paths: readonly string[] }) {
  if (!chromiumPath) throw new Error('Install Chromium from the packages of your system, then try again.')
  const { chromium } = await import('playwright-core')
  const wanted = paths.length === 0 ? shots : paths.flatMap(asShots)
  const dataDir = await mkdtemp(join(tmpdir(), 'bailiwick-screenshots-'))
  const postgres = await startEmbeddedPostgres({ dataDir })
  const service = startService(postgres.superuserUrl, dataDir)
  let browser: Browser | undefined
  try {
    const { url, admin } = await service.ready
    await seedFirm(url, postgres.superuserUrl, admin)
    browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] })
    await mkdir(folder, { recursive: true })
    const save = saver(folder)
    if (paths.length === 0) await shootSignIn(browser, { url, admin, save })
    await shootAll(browser, { url, admin, save, wanted })
  } finally {
    await browser?.close()
    await service.stop()
    await postgres.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

/** A page of any address in light, dark and at 360 px. */
const asShots = (path: string): Shot[] => {
  const name = path.replaceAll(/[^a-z]+/g, '-').replaceAll(/^-|-$/g, '') || 'overview'
  return [
    { name, path },
    { name: `${name}-dark`, path, dark: true },
    { name: `${name}-narrow`, path, narrow: true },
  ]
}

type Save = (name: string, picture: Buffer) => Promise<void>

const saver =
  (folder: string): Save =>
  async (name, picture) => {
    if (picture.length > maxBytes) throw new Error(`${name} has ${picture.length} bytes`)
    await writeFile(join(folder, `${name}.webp`), picture)
  }

/** Starts everything as `npm start` does, and reads where it listens and who its admin is. */
function startService(databaseUrl: string, dataDir: string) {
  const child = spawn(process.execPath, [join(root, 'src/start/development/start.ts')], {
    cwd: root,
    env: { DATABASE_URL: databaseUrl, DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const ready = new Promise<{ url: string; admin: Account }>((resolve, reject) => {
    let admin: Account | undefined
    createInterface(child.stdout).on('line', (line) => {
      const account = /^Admin\s+(\S+)\s+(\S+)/.exec(line)
      if (account) admin = { email: account[1]!, password: account[2]! }
      const url = /^Ready in .* at (\S+)/.exec(line)?.[1]
      if (url && admin) resolve({ url, admin })
    })
    void ended.then(() => reject(new Error('The service did not start.')))
  })
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
  }
  return { ready, stop }
}

async function shootAll(
  browser: Browser,
  { url, admin, save, wanted }: { url: string; admin: Account; save: Save; wanted: readonly Shot[] },
) {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(`${url}/console/`)
  await page.getByLabel('E-mail address').fill(admin.email)
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await page.getByLabel('Password', { exact: true }).fill(admin.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.locator('.page').waitFor()
  for (const shot of wanted) await save(`console-${shot.name}`, await shoot(context, page, url, shot))
}

async function shoot(context: BrowserContext, page: Page, url: string, shot: Shot): Promise<Buffer> {
  const size = shot.narrow ? { width: 360, height: 720 } : { width: 1200, height: shot.height ?? 780 }
  await page.setViewportSize(size)
  await page.emulateMedia({ colorScheme: shot.dark ? 'dark' : 'light', reducedMotion: 'reduce' })
  await page.goto(`${url}/console${shot.path}`)
  await page.locator('.page').waitFor()
  for (const name of shot.click ?? []) await page.getByRole('link', { name, exact: true }).click()
  for (const [label, text] of Object.entries(shot.fill ?? {})) await page.getByLabel(label).fill(text)
  if (shot.until) await page.locator(shot.until).waitFor()
  await page.locator('.ghost').first().waitFor({ state: 'detached' })
  await page.evaluate('document.fonts.ready')
  await page.waitForTimeout(shot.fill ? 1_500 : 500) // charts, lists of second queries, answers to what was filled in
  return pictureOf(context, page)
}
