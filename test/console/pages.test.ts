import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { noChromium } from '../helpers/chromium.ts'
import { colleague } from '../helpers/colleague.ts'
import { claimsOf, tokenIn } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { changeRows, codeAt, enrol, requireMfa, startBeside } from '../identity/otp/authenticator.ts'
import { originOf } from '../identity/passkeys/software-passkey.ts'
import { assertNarrow, assertSound, follow, heading, openChromium, signIn, visit } from './real-browser.ts'

// The pages in a real browser.

const skip = noChromium
const service = await sharedService(t)
const { openPage, go } = await openChromium(t, service)

const pages = [
  ...['/account', '/account/security', '/account/keys', '/account/sessions', '/members', '/invitations'],
  ...['/departments', '/roles', '/organisation', '/service-accounts', '/webhooks', '/events'],
  ...['/audit', '/approvals', '/'],
]

/** Pages that together have all parts: looked at in the dark, too. */
const dark = new Set(['/', '/account/security', '/members', '/audit', '/organisation'])

t.test('the pages take at most 350 kB, and the first screen 150 kB, as they are sent', async (t) => {
  const folder = new URL('../../packages/console/bundle/', import.meta.url)
  const sent = new Map(
    readdirSync(folder)
      .filter((name) => /\.(js|css)$/.test(name))
      .map((name) => [name, gzipSync(readFileSync(new URL(name, folder)), { level: 9 }).length]),
  )
  const sum = (names: Iterable<string>) => [...names].reduce((total, name) => total + sent.get(name)!, 0)
  const { script, style, parts } = JSON.parse(readFileSync(new URL('index.json', folder), 'utf8'))
  t.ok(sum(sent.keys()) <= 350_000, `${sum(sent.keys())} bytes in all`)
  t.ok(sum([script, style, ...parts]) <= 150_000, `${sum([script, style, ...parts])} bytes at first`)
})

t.test('a person signs in with an app, and the browser holds no secret', { skip }, async (t) => {
  const person = await service.signUp()
  const { secret } = await enrol(service, person)
  const { page, faults, own } = await openPage(t)
  await go(page, '/account/security')
  await assertSound(t, page, 'sign-in')
  await signIn(page, { ...person, password: 'wrong wrong wrong' })
  await page.getByRole('alert').getByText('No active account').waitFor()
  t.equal(await page.getByLabel('E-mail address').inputValue(), person.email, 'what was typed stays')
  await signIn(page, person)
  await heading(page, 'Second factor').waitFor()
  await assertSound(t, page, 'second factor')
  service.advance(60_000)
  await page.getByLabel('Code').fill(codeAt(secret, service.now()))
  await page.getByRole('button', { name: 'Continue' }).click()
  await heading(page, 'Security').waitFor()
  await page.getByText('Recovery codes', { exact: false }).first().waitFor()
  const kept = await page.evaluate(
    'JSON.stringify([localStorage, sessionStorage, document.cookie, document.documentElement.outerHTML, location.href])',
  )
  t.notMatch(kept, /eyJ|bailiwick=/)
  t.equal(faults.filter((text) => !text.includes('401')).join('\n'), '')
  const [cookie] = await own.cookies()
  t.match(cookie, { name: 'bailiwick', httpOnly: true, sameSite: 'Strict' })
  t.throws(() => claimsOf(cookie!.value), 'the cookie is no token')
})

// One owner in one page, because each sign-in loads everything anew.
t.test('an owner', { skip }, async (t) => {
  const owner = await service.signUp({ first_name: '<b>Ada</b>', last_name: 'Love\u202elace' })
  const { page, faults } = await openPage(t)
  const dialog = page.locator('.dialog')
  await go(page, '/nowhere')
  await signIn(page, owner)

  await t.test('every page is sound, also at 360 px and in the dark', async (t) => {
    await page.getByText('<b>Ada</b> Love').waitFor()
    await assertSound(t, page, '/nowhere', { whole: true })
    for (const path of pages) {
      await follow(page, path)
      await assertSound(t, page, path)
      await assertNarrow(t, page, path, { look: dark.has(path) })
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
           from generate_series(1, 9999) n returning id, email, first_name, last_name)
         insert into memberships
           (tenant_id, id, user_id, email, first_name, last_name, attributes, joined_at, updated_at)
         select '${owner.tenantId}', gen_random_uuid(), id, email, first_name, last_name, '{}', now(), now() from people`,
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

  await t.test(
    'a service account and a person get keys, which are shown once and work until they are replaced or revoked',
    async (t) => {
      const kept = page.getByRole('dialog', { name: 'Copy this key now' })
      const statusOf = async (token: string) =>
        (await service.call('GET', '/api/v1/users/me/', { token })).status
      /** The key that the dialog shows, which then closes. */
      const take = async () => {
        await kept.waitFor()
        const [key] = /bwk_[0-9A-Za-z]{71}/.exec(await kept.innerText())!
        await kept.getByRole('button', { name: 'I have saved it' }).click()
        await kept.waitFor({ state: 'detached' })
        t.notOk((await page.content()).includes(key), 'the key is shown once')
        t.equal(await statusOf(key), 200, 'the key works')
        return key
      }
      const choose = async (name: string, item: string) => {
        await page
          .getByRole('button', { name: `Actions for ${name}` })
          .first()
          .click()
        await page.getByRole('menuitem', { name: item }).click()
      }
      await follow(page, '/service-accounts')
      await page.getByText('No service account yet').waitFor()
      await page.getByRole('button', { name: 'New service account' }).first().click()
      await dialog.getByLabel('Name').fill('nightly <i>report</i>')
      await dialog.getByLabel('auditor').check()
      await assertSound(t, page, 'a new service account')
      await dialog.getByRole('button', { name: 'Create' }).click()
      await heading(page, 'nightly <i>report</i>').waitFor()

      // A form that could not load the roles and departments takes none away, and overwrites no change of others.
      const [department, accountId] = [crypto.randomUUID(), new URL(page.url()).pathname.split('/').at(-1)]
      const path = `/api/v1/service-accounts/${accountId}/`
      await changeRows(
        service,
        `insert into departments (tenant_id, id, name, created_at, updated_at)
         values ('${owner.tenantId}', '${department}', 'Night', now(), now())`,
      )
      await owner.patch(path, { department_id: department })
      await page.route(/tenants\/[^/]+\/(roles|departments)\//, (route) =>
        route.fulfill({ status: 403, body: '{"detail":"No."}' }),
      )
      await page.reload()
      const edit = async (description: string) => {
        await page.getByRole('button', { name: 'Actions', exact: true }).click()
        await page.getByRole('menuitem', { name: 'Change' }).click()
        await dialog.getByLabel('Description').fill(description)
      }
      await edit('Each night')
      await owner.patch(path, { name: 'Renamed' })
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.getByText('Someone else changed this').waitFor()
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByText('The account is changed').waitFor()
      const { body: renamed } = await owner.get(path)
      t.strictSame(renamed.roles.sort(), ['auditor', 'member'])
      t.match(renamed, {
        name: 'Renamed',
        description: 'Each night',
        department_id: department,
      })
      await page.unroute(/tenants\/[^/]+\/(roles|departments)\//)
      await page.reload()
      await edit('')
      t.equal(await dialog.getByLabel('Department').inputValue(), department)
      await dialog.getByLabel('Department').selectOption('None')
      await dialog.getByLabel('auditor').uncheck()
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.waitFor({ state: 'detached' })
      t.match((await owner.get(path)).body, { description: '', roles: ['member'], department_id: null })

      service.advance(11 * 60_000)
      await page.getByRole('button', { name: 'New key' }).click()
      await dialog.getByLabel('Name').fill('Server 1')
      await dialog.getByLabel('Only these').check()
      await dialog.getByRole('button', { name: 'Make the key' }).click()
      await dialog.getByText('Name at least one permission').waitFor()
      await dialog.getByLabel('Permissions', { exact: true }).fill('member:list,')
      await assertSound(t, page, 'a new key')
      await dialog.getByRole('button', { name: 'Make the key' }).click()
      await page.getByRole('dialog', { name: 'Confirm that it is you' }).waitFor()
      await page.getByLabel('Your password').fill(owner.password)
      await page.getByRole('button', { name: 'Confirm' }).click()
      await kept.waitFor()
      await page.keyboard.press('Escape')
      await assertSound(t, page, 'a key, which only its button closes')
      const first = await take()
      const { body: account } = await service.call('GET', '/api/v1/users/me/', { token: first })
      t.strictSame(account.permissions, ['member:list'])
      await choose('Server 1', 'Replace')
      await dialog.getByLabel('The old key works for').selectOption('no longer: it ends at once')
      await dialog.getByRole('button', { name: 'Make the new key' }).click()
      await page.getByLabel('Your password').fill(owner.password)
      await page.getByRole('button', { name: 'Confirm' }).click()
      const second = await take()
      t.equal(await statusOf(first), 401)
      await assertSound(t, page, 'a service account')
      await assertNarrow(t, page, 'a service account', { look: true })
      await choose('Server 1', 'Revoke')
      await dialog.getByRole('button', { name: 'Revoke' }).click()
      await page.getByText('The key is revoked').waitFor()
      t.equal(await statusOf(second), 401)
      await page.getByRole('button', { name: 'Actions', exact: true }).click()
      await page.getByRole('menuitem', { name: 'Disable' }).click()
      await dialog.getByRole('button', { name: 'Disable' }).click()
      await page.getByText('This account is disabled').waitFor()
      await page.getByRole('button', { name: 'Actions', exact: true }).click()
      await page.getByRole('menuitem', { name: 'Delete' }).click()
      await dialog.getByRole('button', { name: 'Delete' }).click()
      await page.getByText('No service account yet').waitFor()

      await follow(page, '/account/keys')
      await page.getByRole('button', { name: 'New key' }).click()
      await dialog.getByLabel('Name').fill('My script')
      await dialog.getByRole('button', { name: 'Make the key' }).click()
      await page.getByLabel('Your password').fill(owner.password)
      await page.getByRole('button', { name: 'Confirm' }).click()
      const own = await take()
      await choose('My script', 'Revoke')
      await dialog.getByRole('button', { name: 'Revoke' }).click()
      await page.getByText('No key yet').waitFor()
      t.equal(await statusOf(own), 401)
      t.strictSame(
        faults.splice(0).filter((text) => !/40[134]/.test(text)),
        [],
      )
    },
  )

  await t.test(
    'an administrator follows events as they happen, makes a webhook, and closes the organisation',
    async (t) => {
      await changeRows(service, `update tenants set name = 'Pier <9>' where id = '${owner.tenantId}'`)
      await service.mailTo(owner.email, 'Confirm') // starts the relay, which numbers events
      await follow(page, '/events')
      await page.getByText('Login succeeded').first().waitFor()
      await owner.post(`/api/v1/tenants/${owner.tenantId}/departments/`, { name: 'Sales' })
      await page.getByRole('button', { name: 'Department created', exact: true }).click()
      await dialog.getByText('"tenant.department_created"').first().waitFor()
      await page.keyboard.press('Escape')

      await page.getByRole('link', { name: 'Webhooks' }).click()
      await page.getByRole('button', { name: 'New webhook' }).click()
      await dialog.getByLabel('Address').fill('https://hooks.example.test/in')
      await dialog.getByLabel('Only these').check()
      await dialog.getByRole('button', { name: 'Create' }).click()
      await dialog.getByText('Choose at least one type').waitFor()
      t.equal(await dialog.getByLabel('Address').inputValue(), 'https://hooks.example.test/in')
      await dialog.getByText('Identity', { exact: true }).click()
      await dialog.getByLabel('All of identity').check()
      await assertSound(t, page, 'a new webhook')
      await dialog.getByRole('button', { name: 'Create' }).click()
      const kept = page.getByRole('dialog', { name: 'Keep this secret now' })
      t.match(await kept.innerText(), /whsec_\S{40}/)
      await kept.getByRole('button', { name: 'I have saved it' }).click()
      await heading(page, 'hooks.example.test').waitFor()
      t.notMatch(await page.content(), /whsec_/, 'the secret is shown once')
      await page.getByRole('button', { name: 'Send a test' }).click()
      await page.getByRole('cell', { name: 'events.webhook_tested' }).waitFor()
      await assertSound(t, page, 'a webhook')

      await page.getByRole('link', { name: 'Settings' }).click()
      await page.getByRole('button', { name: 'Suspend' }).click()
      await dialog.getByRole('button', { name: 'Suspend' }).click()
      await page.getByText('The organisation is suspended').first().waitFor()
      await page.getByRole('button', { name: 'Activate' }).click()
      await dialog.getByRole('button', { name: 'Activate' }).click()
      await page.getByText('The organisation is open again').waitFor()
      await page.getByRole('button', { name: 'Delete for good' }).click()
      await dialog.getByLabel('Type the name').fill('Pier 9')
      await dialog.getByRole('button', { name: 'Delete for good' }).click()
      await dialog.getByText('This is not the name').waitFor()
      await dialog.getByLabel('Type the name').fill('Pier <9>')
      await dialog.getByRole('button', { name: 'Delete for good' }).click()
      await heading(page, 'Sign in').waitFor()
      t.strictSame(
        faults.splice(0).filter((text) => !/40[0134]/.test(text)),
        [],
      )
    },
  )
})

t.test(
  'a sign-out reaches other tabs, and a session that ended elsewhere the next click',
  { skip },
  async (t) => {
    const person = await service.signUp()
    const { page, own } = await openPage(t)
    await go(page, '/account')
    await signIn(page, person)
    await heading(page, 'Profile').waitFor()
    const { page: other } = await openPage(t, { context: own })
    await go(other, '/account/sessions')
    await heading(other, 'Sessions').waitFor()
    await page.getByRole('button', { name: person.email }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    for (const tab of [page, other]) await heading(tab, 'Sign in').waitFor()
    await page.goBack().catch(() => undefined)
    await page.goForward().catch(() => undefined)
    await heading(page, 'Sign in').waitFor()
    await signIn(other, person)
    await other.getByText('This session').waitFor()
    await person.post('/api/v1/auth/logout-all/')
    await other.getByRole('link', { name: 'Security' }).click()
    await other.getByText('Your session has ended').waitFor()
    await signIn(other, person)
    await heading(other, 'Security').waitFor()
    t.pass('and goes on where it was')
  },
)

t.test(
  'an administrator invites, changes a role, and carries out a change after another person approves it',
  { skip },
  async (t) => {
    const owner = await service.signUp()
    const admin = await colleague(service, owner, 'admin')
    const member = await colleague(service, owner)
    service.advance(1_000)
    await admin.switchTo(owner.tenantId) // entered last, so that the sign-in leads there
    const policy = {
      name: 'Two agree',
      effect: 'require_approval',
      actions: ['member:delete', 'api_key:create'],
    }
    t.equal((await owner.post('/api/v1/policies/', policy)).status, 201)
    const [asked, approving] = [await openPage(t), await openPage(t, { beside: true })]
    const { page } = asked
    await go(page, '/invitations')
    await signIn(page, admin)
    await page.getByRole('button', { name: 'Invite people' }).click()
    const invited = ['one', 'two'].map((name) => `${name}.${process.pid}@example.com`)
    await page.getByLabel('E-mail addresses').fill(`${invited.join(', ')}, nobody`)
    await page.getByRole('button', { name: 'Invite 2 people' }).click()
    await page.getByText('These are no e-mail addresses: nobody').waitFor()
    await page.getByLabel('E-mail addresses').fill(invited.join('\n'))
    await page.getByRole('button', { name: 'Invite 2 people' }).click()
    for (const email of invited) await page.getByRole('cell', { name: email, exact: true }).waitFor()

    await page.getByRole('button', { name: 'From a table' }).click()
    const table = page.locator('.dialog')
    const lines = [
      'address;roles;department;id',
      `three.${process.pid}@example.com;member|auditor;;ext-3`,
      `four.${process.pid}@example.com;pirate;`,
      `"five.${process.pid}@example.com";"";Atlantis`,
      `THREE.${process.pid}@example.com`,
    ]
    await table.getByLabel('Table').fill(lines.join('\n').replace('roles', 'rolls'))
    await table.getByText('There is no column rolls. Did you mean roles?').waitFor()
    await assertSound(t, page, 'a table with an unknown column')
    await table.getByRole('button', { name: 'Invite 0 people' }).click()
    await table.getByLabel('Table').fill(lines.join('\n'))
    for (const fault of ['There is no role pirate', 'There is no department Atlantis', 'twice'])
      await table.getByText(fault).waitFor()
    await assertSound(t, page, 'a table of invitations')
    await table.getByRole('button', { name: 'Invite 1 person' }).click()
    await table.getByText('3 lines could not be invited').waitFor()
    t.equal(
      await table.getByLabel('Table').inputValue(),
      [lines[0], ...lines.slice(2)].join('\n'),
      'titles and faulty lines stay',
    )
    await page.keyboard.press('Escape')
    await page.getByRole('cell', { name: `three.${process.pid}@example.com`, exact: true }).waitFor()

    await follow(page, '/members')
    await page.getByLabel('Search by name or address').fill(member.email)
    const row = page.getByRole('row', { name: member.email })
    await page.waitForURL(/search=/) // the filter is in the address
    await page.getByText('1 in all').waitFor()
    await row.getByRole('button', { name: /Actions for/ }).click()
    await page.getByRole('menuitem', { name: 'Change roles' }).click()
    await assertSound(t, page, 'a dialog')
    await page.getByLabel('auditor').check()
    await page.getByLabel('ID in your applications').fill('emp-0042')
    await page.getByRole('button', { name: 'Save' }).click()
    await row.getByText('auditor').waitFor()
    const named = (path: string) => owner.get(`/api/v1/tenants/${owner.tenantId}/${path}`)
    t.match((await named('members/?external_id=emp-0042')).body, { results: [{ user_id: member.id }] })
    t.match((await named('invitations/?search=three')).body, { results: [{ external_id: 'ext-3' }] })
    await row.getByRole('button', { name: /Actions for/ }).click()
    await page.getByRole('menuitem', { name: 'See permissions' }).click()
    await page.getByText('by auditor').first().waitFor()
    await page.getByText('Not: update, suspend, activate, archive, delete').waitFor()
    await assertSound(t, page, 'permissions of a member')
    await page.keyboard.press('Escape')
    const log = await owner.get(`/api/v1/decisions/?kind=all&subject_id=${member.id}`)
    t.equal(
      log.body.results.filter(({ effect }: { effect: string }) => effect === 'deny').length,
      0,
      'the member was refused nothing',
    )

    await row.getByRole('button', { name: /Actions for/ }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('This waits for an approval').waitFor()
    const other = approving.page
    await go(other, '/approvals')
    await signIn(other, owner)
    await other.getByRole('link', { name: 'Delete member', exact: true }).click()
    await other.getByRole('button', { name: 'Approve' }).click()
    await other.getByLabel('Comment').fill('Agreed.')
    await other.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
    await other.getByText('Agreed.').waitFor()
    await assertSound(t, other, 'a request')
    await visit(page, '/approvals?tab=all')
    await page.getByRole('link', { name: 'Delete member', exact: true }).click()
    await page.getByRole('button', { name: 'Carry it out' }).click()
    await page.getByText('Carried out').waitFor()
    await visit(page, '/account/keys')
    await page.getByRole('button', { name: 'New key' }).click()
    await page.locator('.dialog').getByLabel('Name').fill('Script')
    await Promise.all([
      page.waitForResponse((answer) => answer.url().endsWith('/keys/') && answer.status() === 403),
      page.getByRole('button', { name: 'Make the key' }).click(),
    ])
    await visit(other, '/approvals')
    await other.getByRole('link', { name: 'Create API key', exact: true }).click()
    await other.getByRole('button', { name: 'Approve' }).click()
    await other.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
    await visit(page, '/approvals?tab=all')
    await page.getByRole('link', { name: 'Create API key', exact: true }).click()
    await page.getByRole('button', { name: 'Carry it out' }).click()
    const kept = page.getByRole('dialog', { name: 'Copy this now' })
    await kept.getByText(/bwk_[0-9A-Za-z]{71}/).waitFor()
    await kept.getByRole('button', { name: 'I have saved it' }).click()
    await visit(page, '/audit?action=member:delete')
    await page.getByRole('button', { name: 'Member deleted' }).click()
    await page.getByRole('dialog').getByText('Changes').waitFor()
    t.strictSame(
      [...asked.faults, ...approving.faults].filter((text) => !/40[13]/.test(text)),
      [],
    )
  },
)

t.test(
  'an owner sets the manager of a member, then acts as the member, under a banner on each page, until they end it',
  { skip },
  async (t) => {
    const owner = await service.signUp({ first_name: 'Olga' })
    const { secret } = await enrol(service, owner)
    const member = await colleague(service, owner)
    service.advance(60_000)
    const { page, faults } = await openPage(t)
    const dialog = page.locator('.dialog')
    const row = page.getByRole('row', { name: member.email })
    await go(page, '/members')
    await signIn(page, owner)
    await page.getByLabel('Code').fill(codeAt(secret, service.now()))
    await page.getByRole('button', { name: 'Continue' }).click()
    await row.getByRole('button', { name: /Actions for/ }).click()
    await page.getByRole('menuitem', { name: 'Change roles' }).click()
    const manager = dialog.getByRole('combobox', { name: 'Manager' })
    await manager.fill('stranger@example.com')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('No member has this address').waitFor()
    await manager.fill(owner.email.toUpperCase())
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The member is changed').waitFor()
    await page
      .getByRole('row', { name: owner.email })
      .getByRole('button', { name: /Actions/ })
      .click()
    await page.getByRole('menuitem', { name: 'See who reports' }).click()
    await page.getByText('1 in all').waitFor()
    await page.getByText('Reports to Olga').waitFor()

    await row.getByRole('button', { name: /Actions for/ }).click()
    await page.getByRole('menuitem', { name: 'Act as' }).click()
    await dialog.getByLabel('Reason').fill('short')
    await dialog.getByRole('button', { name: 'Begin' }).click()
    await dialog.locator('.field-fault').waitFor()
    await dialog.getByLabel('Reason').fill('Ticket 4711: the list is empty')
    await dialog.getByRole('button', { name: 'Begin' }).click()
    const banner = page.getByText('You act as')
    await banner.waitFor()
    for (const path of ['audit', 'account/security'])
      t.equal(await page.locator(`.side a[href="/console/${path}"]`).count(), 0, `${path} is gone`)
    await follow(page, '/account')
    await banner.waitFor()
    await assertSound(t, page, 'acting as a member')
    await assertNarrow(t, page, 'acting as a member')
    await page.reload()
    await banner.waitFor()
    await page.getByRole('button', { name: 'Be yourself again' }).click()
    await page.locator('.side a[href="/console/audit"]').waitFor()
    t.equal(await banner.count(), 0)
    t.strictSame(
      faults.filter((text) => !/40[013]/.test(text)),
      [],
    )
  },
)

t.test('a mailed link leads to the console, and a dead one says what to do', { skip }, async (t) => {
  const person = await service.signUp()
  await service.call('POST', '/api/v1/auth/password/reset/', { body: { email: person.email } })
  const token = tokenIn(await service.mailTo(person.email, 'Reset'))
  const { page } = await openPage(t)
  await page.goto(`${service.url}/reset-password?token=${token}`)
  await page.getByLabel('New password').fill('an even quieter harbour')
  await assertSound(t, page, 'a mailed link')
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.getByRole('link', { name: 'Go to sign-in' }).click()
  await heading(page, 'Sign in').waitFor()
  await page.goto(`${service.url}/reset-password?token=${token}`)
  await page.getByLabel('New password').fill('an even quieter harbour')
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.getByText('choose “Forgot password?”').waitFor()
  await assertSound(t, page, 'a dead link')
})

t.test(
  'where links to sign in are mailed, one signs in the console of the browser that asked, in all tabs',
  { skip },
  async (t) => {
    const [person, other] = [await service.signUp(), await service.signUp()]
    const beside = await startBeside(t, service, { MAGIC_LINK_ENABLED: 'true' })
    const { page, own, faults } = await openPage(t)
    await go(page, '/account')
    t.equal(await page.getByRole('button', { name: 'Mail me a link' }).count(), 0, 'only where they are on')
    await go(page, '/account/security', beside)
    await page.getByLabel('E-mail address').fill(person.email)
    await page.getByRole('button', { name: 'Mail me a link' }).click()
    t.equal(await page.getByLabel('E-mail address').inputValue(), person.email)
    await assertSound(t, page, 'a link to sign in')
    await page.getByRole('button', { name: 'Send the link' }).click()
    await heading(page, 'Check your mailbox').waitFor()
    const token = tokenIn(await service.mailTo(person.email, 'log in'))
    const { page: mailed } = await openPage(t, { context: own })
    const consoleNonce = await page.evaluate("localStorage.getItem('bailiwick-magic-link')")
    // An application of this origin that asks later logs in with its own nonce, not with the console's.
    const { nonce } = await page.evaluate<{ nonce: string }>(
      `fetch('/api/v1/auth/magic-link/', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: '${other.email}' }),
      }).then((answer) => answer.json())`,
    )
    await page.evaluate(`localStorage.setItem('bailiwick-magic-link', '${nonce}')`)
    await mailed.goto(`${beside}/log-in?token=${tokenIn(await service.mailTo(other.email, 'log in'))}`)
    await mailed.getByRole('button', { name: 'Log in' }).click()
    await mailed.getByText('You are logged in').waitFor()
    await page.evaluate(`localStorage.setItem('bailiwick-magic-link', '${consoleNonce}')`)
    await mailed.goto(`${beside}/log-in?token=${token}`)
    await mailed.route('**/magic-link/confirm/', (route) => route.fulfill({ status: 503, body: '{}' }), {
      times: 1,
    })
    await mailed.getByRole('button', { name: 'Log in' }).click()
    await mailed.getByText('Try again in a moment').waitFor()
    await mailed.getByRole('button', { name: 'Log in' }).click()
    await mailed.waitForURL(/\/console\//)
    await heading(page, 'Security').waitFor()
    t.notMatch(await page.evaluate('JSON.stringify([localStorage, sessionStorage])'), /eyJ|magic-link/)
    t.strictSame(faults, [])
  },
)

t.test('a passkey at another address than its own says where it works', { skip }, async (t) => {
  const { page } = await openPage(t)
  await go(page, '/', originOf(service).replace('localhost', '127.0.0.1'))
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.getByText('Passkeys work at localhost, and this page is at 127.0.0.1.').waitFor()
})

t.test('a person adds a passkey, and signs in with it without a password', { skip }, async (t) => {
  const person = await service.signUp()
  const { page, faults, own } = await openPage(t)
  const devtools = await own.newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  await go(page, '/account/security', originOf(service))
  await signIn(page, person)
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('Laptop')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('Your passkey is added').waitFor()
  await page.getByRole('listitem').getByText('Laptop').waitFor()
  await page.getByRole('button', { name: person.email }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await heading(page, 'Security').waitFor()
  t.strictSame(faults, [])
})

t.test(
  'a switch asks for any factor; given up, it moves nothing; done in one tab, it ends the dialogs of others',
  { skip },
  async (t) => {
    const owner = await service.signUp()
    const person = await colleague(service, owner)
    const { secret } = await enrol(service, person)
    await changeRows(
      service,
      `update otp_devices set confirmed_at = confirmed_at - interval '2 days' where user_id = '${person.id}'`,
    )
    await changeRows(service, `update tenants set name = 'Harbour' where id = '${owner.tenantId}'`)
    const { body: profile } = await person.get('/api/v1/users/me/')
    const own = profile.memberships.find(
      ({ tenant }: { tenant: { id: string } }) => tenant.id !== owner.tenantId,
    ).tenant
    service.advance(1_000)
    await person.switchTo(own.id) // entered last, so that the sign-in leads there
    await requireMfa(service, owner.tenantId)
    const beside = await startBeside(t, service, { OTP_REQUIRED_WHEN_ENROLLED: 'false' })
    const { page, own: context } = await openPage(t)
    await go(page, '/account/security', beside)
    await signIn(page, person)
    await heading(page, 'Security').waitFor()
    const switcher = page.locator('.switcher').first()
    await switcher.click()
    await page.getByRole('menuitem', { name: 'Harbour' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Use a code by e-mail' }).click()
    await dialog.getByRole('button', { name: 'Mail me a code' }).click()
    await dialog.getByText('A code is on its way').waitFor()
    await assertSound(t, page, 'second factor of a switch')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    service.advance(60_000)
    await page.getByRole('button', { name: /codes/i }).first().click()
    await dialog.getByLabel('Code').fill(codeAt(secret, service.now()))
    const [shown] = await Promise.all([
      page.waitForResponse((answer) => /verify|second-factor/.test(answer.url())),
      dialog.getByRole('button', { name: 'Confirm' }).click(),
    ])
    t.match(shown.url(), /\/console\/api\/auth\/otp\/verify\/$/)
    await page.reload()
    await switcher.getByText(own.name).waitFor()
    await switcher.click()
    await page.getByRole('menuitem', { name: 'New organisation' }).click()
    await dialog.getByLabel('Name').fill('Begun elsewhere')
    const { page: tab } = await openPage(t, { context })
    await go(tab, `/approvals/${owner.id}?organisation=${owner.tenantId}`, beside)
    await tab.getByRole('button', { name: 'Go to that organisation' }).click()
    await tab.getByText('You are now in Harbour').waitFor()
    await switcher.getByText('Harbour').waitFor()
    t.equal(await dialog.count(), 0)
  },
)
