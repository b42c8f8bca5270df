import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { noChromium } from '../helpers/chromium.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { changeRows } from '../identity/otp/authenticator.ts'
import { assertNarrow, assertSound, follow, heading, openChromium, signIn } from './real-browser.ts'

// The pages in a real browser: all of them, one after the other.

const skip = noChromium
const service = await sharedService(t)
const { openPage, go } = await openChromium(t, service)

const pages = [
  ...['/account', '/account/security', '/account/keys', '/account/sessions', '/members', '/invitations'],
  ...[
    '/departments',
    '/roles',
    '/organisation',
    '/applications',
    '/service-accounts',
    '/webhooks',
    '/events',
  ],
  ...['/audit', '/approvals', '/'],
]

/** Pages that together have all parts: looked at in the dark, too. */
const dark = new Set(['/', '/account/security', '/members', '/audit', '/organisation'])

t.test(
  'the first screen takes at most 150 kB, a page with its frame 250 kB, and one with the editor 360 kB, as they are sent',
  async (t) => {
    const folder = new URL('../../packages/console/bundle/', import.meta.url)
    const files = new Map(
      readdirSync(folder)
        .filter((name) => /\.(js|css)$/.test(name))
        .map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]),
    )
    /** A file with all that it imports at once. */
    const loaded = (name: string, found = new Set<string>()): Set<string> => {
      if (found.has(name)) return found
      found.add(name)
      for (const [, part] of files.get(name)!.matchAll(/(?:from|import)"\.\/(.+?)"/g)) loaded(part!, found)
      return found
    }
    const fileOf = (exported: string) =>
      [...files.keys()].find((name) => new RegExp(`[{,][\\w$]+ as ${exported}[,}]`).test(files.get(name)!))!
    const { script, style } = JSON.parse(readFileSync(new URL('index.json', folder), 'utf8'))
    const sent = (...exported: string[]) => {
      const names = new Set([
        style,
        ...[script, ...exported.map(fileOf)].flatMap((name) => [...loaded(name)]),
      ])
      return [...names].reduce((sum, name) => sum + gzipSync(files.get(name)!, { level: 9 }).length, 0)
    }
    const atMost = (bytes: number, ...exported: string[]) =>
      t.ok(sent(...exported) <= bytes, `${exported.at(-1) ?? 'first'}: ${sent(...exported)} bytes`)
    atMost(150_000)
    for (const page of ['Home', 'ApplicationsPage', 'PoliciesPage']) atMost(250_000, 'Frame', page)
    atMost(360_000, 'Frame', 'PoliciesPage', 'createEditor')
  },
)

// One owner in one page, because each sign-in loads everything anew.
t.test('an owner', { skip }, async (t) => {
  const owner = await service.signUp({ first_name: '<b>Ada</b>', last_name: 'Love\u202elace' })
  const { page, faults } = await openPage(t)
  await go(page, '/nowhere')
  await signIn(page, owner)

  await t.test('every page is sound, also at 360 px and in the dark', async (t) => {
    await page.getByText('<b>Ada</b> Love').waitFor()
    await assertSound(t, page, '/nowhere', { whole: true, always: true })
    for (const path of pages) {
      await follow(page, path)
      await assertSound(t, page, path, { always: true })
      await assertNarrow(t, page, path, { look: dark.has(path), always: true })
    }
    await page.setViewportSize({ width: 360, height: 740 })
    await page.getByRole('button', { name: 'Open the menu' }).click()
    await page.getByRole('link', { name: 'Security' }).click()
    await heading(page, 'Security').waitFor()
    await page.setViewportSize({ width: 1280, height: 800 })
    t.strictSame(faults.splice(0), [])
  })

  await t.test(
    'a service that answers 503 is shown as a page that tries again, and forms keep what was typed',
    async (t) => {
      await follow(page, '/account')
      await page.route('**/console/api/**', (route) =>
        route.fulfill({ status: 503, body: '{"detail":"Come again."}' }),
      )
      await page.getByLabel('First name').fill('Grace')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('alert').getByText('Come again.').waitFor()
      t.equal(await page.getByLabel('First name').inputValue(), 'Grace')
      await page.unroute('**/console/api/**')
      await page.route('**/console/api/users/me/', async (route) => {
        await page.getByRole('main').getByRole('progressbar').waitFor({ state: 'attached' })
        await route.continue()
      })
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Your name is saved').waitFor()
      t.equal(await page.getByRole('progressbar').count(), 0, 'what takes long shows it, while it does')
      await page.unroute('**/console/api/users/me/')
      await page.route('**/console/session/', (route) =>
        route.fulfill({ status: 503, headers: { 'retry-after': '1' }, body: '{}' }),
      )
      await page.reload()
      await page.getByRole('heading', { level: 2, name: 'This could not be loaded' }).waitFor()
      await page.unroute('**/console/session/')
      await page.getByRole('button', { name: 'Try again' }).click()
      await heading(page, 'Profile').waitFor()
      t.equal(await page.getByLabel('First name').inputValue(), 'Grace')
      t.strictSame(
        faults.splice(0).filter((text) => !/503/.test(text)),
        [],
      )
    },
  )

  await t.test(
    'a list of 10,000 members is paged and searched; 429 is shown, and what was typed stays',
    async (t) => {
      const mark = `${process.pid}.example.com`
      await changeRows(
        service,
        `with people as (
           insert into users (id, email, password_hash, first_name, last_name, date_joined, updated_at)
           select gen_random_uuid(), 'p' || n || '@${mark}', 'x', '<img src=x> ' || n, E'\\u202eedis', now(), now()
           from generate_series(1, 9999) n returning id, email, first_name, last_name),
         counted as (
           update row_counts set rows = rows + 9999 where tenant_id = '${owner.tenantId}' and relation = 'memberships')
         insert into memberships
           (tenant_id, id, user_id, email, first_name, last_name, is_active, date_joined, person_version, joined_at, updated_at)
         select '${owner.tenantId}', gen_random_uuid(), id, email, first_name, last_name, true, now(), 1, now(), now() from people`,
      )
      await follow(page, '/members')
      await page.getByText('10,000 in all').waitFor()
      t.ok((await page.getByRole('row').count()) < 100)
      await page.getByRole('button', { name: 'Next' }).click()
      await page.waitForURL(/cursor=/)
      await assertSound(t, page, 'one of many pages')
      await page.route('**/console/api/tenants/*/members/**', (route) =>
        route.fulfill({
          status: 429,
          headers: { 'retry-after': '1' },
          body: '{"detail":"Too many requests. Try again in 1 s."}',
        }),
      )
      await page.getByLabel('Search by name or address').fill(`p7777@${mark}`)
      await page.getByText('Too many requests').waitFor()
      t.equal(await page.getByLabel('Search by name or address').inputValue(), `p7777@${mark}`)
      await page.unroute('**/console/api/tenants/*/members/**')
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByText(`p7777@${mark}`).waitFor()
      t.equal(await page.getByText('<img src=x> 7777').count(), 1, 'markup in a name is text')
      t.strictSame(
        faults.splice(0).filter((text) => !/429/.test(text)),
        [],
      )
    },
  )
})
