import { generateKeyPairSync } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { refreshTokenGrant } from 'openid-client'
import type { Page } from 'playwright-core'
import t from 'tap'
import { noChromium } from '../helpers/chromium.ts'
import { colleague } from '../helpers/colleague.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { invalidGrant, openApplication, tokensFor } from '../oauth/relying-party.ts'
import { assertNarrow, assertSound, follow, heading, openChromium, signIn } from './real-browser.ts'

// Applications in a real browser.

const skip = noChromium
const service = await sharedService(t)
const { openPage, go } = await openChromium(t, service)
const choose = async (page: Page, item: string) => {
  await page.getByRole('button', { name: 'Actions', exact: true }).click()
  await page.getByRole('menuitem', { name: item }).click()
}
/** Switches the session to a tenant, and opens an application of it. */
const enter = async (page: Page, tenantId: string, id: string) => {
  await heading(page, 'Profile').waitFor()
  await page.evaluate(
    (tenant_id) =>
      fetch('/console/api/auth/switch-tenant/', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-bailiwick-console': '1' },
        body: JSON.stringify({ tenant_id }),
      }),
    tenantId,
  )
  await go(page, `/applications/${id}`)
}
const callback = 'https://app.example.com/login/generic_oauth'

t.test(
  'an owner registers an application, copies its settings, changes it, replaces its secret, and deletes it',
  { skip },
  async (t) => {
    const owner = await service.signUp()
    const { page, faults } = await openPage(t)
    const dialog = page.locator('.dialog')
    const clients = async () => (await owner.get('/api/v1/oauth-clients/')).body.results
    await go(page, '/')
    await signIn(page, owner)
    await follow(page, '/applications')
    await page.getByText('No application yet').waitFor()

    // With the keyboard alone.
    const register = page.getByRole('button', { name: 'Register an application' })
    await register.focus()
    await page.keyboard.press('Enter')
    await dialog.waitFor()
    t.equal(await page.evaluate("document.activeElement?.getAttribute('value')"), 'web')
    await page.keyboard.press('Tab')
    await page.keyboard.type('<b>Shop</b>')
    await page.keyboard.press('Tab')
    await page.keyboard.type('http://app.example.com/')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await dialog.getByLabel('Redirect URI 2', { exact: true }).fill(callback)
    await assertSound(t, page, 'a new application')
    await assertNarrow(t, page, 'a new application', { look: true })
    await dialog.getByRole('button', { name: 'Register' }).click()
    await dialog.getByText('Use https, or http on 127.0.0.1').waitFor()
    const faulty = dialog.getByLabel('Redirect URI', { exact: true })
    t.equal(await faulty.getAttribute('aria-invalid'), 'true', 'a fault is at its own URI')
    const second = dialog.getByLabel('Redirect URI 2', { exact: true })
    t.equal(await second.getAttribute('aria-invalid'), null)
    await faulty.fill('https://app.example.com/')
    await dialog.getByRole('button', { name: 'Register' }).click()

    await heading(page, '<b>Shop</b> is registered').waitFor()
    const [secret = ''] = /bws_[0-9A-Za-z]{49}/.exec(await page.innerText('.page'))!
    const [client] = await clients()
    const own = { scopes: [...client.scopes, 'member:list'] }
    await owner.patch(`/api/v1/oauth-clients/${client.id}/`, own)
    t.match(client, { kind: 'web', redirect_uris: ['https://app.example.com/', callback] })
    const code = page.locator('.snippets pre')
    t.ok(
      (await code.innerText()).includes(`auth_url = ${service.url}/oauth/authorize`),
      'it has the URI of Grafana',
    )
    await page.getByLabel('Library or product').selectOption('Next.js with Auth.js')
    t.ok((await code.first().innerText()).includes(`AUTH_BAILIWICK_SECRET=${secret}`))
    await page.getByText('Add this redirect URI to the application first').waitFor()
    await assertSound(t, page, 'a registered application')
    await assertNarrow(t, page, 'a registered application', { look: true })
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy Client secret' }).click()
    await page.getByRole('button', { name: 'Copied Client secret' }).waitFor()
    t.equal(await page.evaluate('navigator.clipboard.readText()'), secret)
    await page.getByRole('button', { name: 'I have saved it' }).click()
    await heading(page, '<b>Shop</b>').waitFor()
    t.notOk((await page.content()).includes(secret), 'the secret is shown once')

    await page.getByRole('button', { name: 'New secret' }).click()
    await dialog.getByRole('button', { name: 'Make the secret' }).click()
    await page.getByRole('dialog', { name: 'Copy this secret now' }).waitFor()
    await dialog.getByRole('button', { name: 'I have saved it' }).click()
    const trash = page.getByRole('button', { name: 'Delete this secret' })
    await trash.nth(1).waitFor()
    t.equal(await page.getByRole('button', { name: 'New secret' }).count(), 0, 'two are the most')
    await assertSound(t, page, 'an application')
    await assertNarrow(t, page, 'an application', { look: true })
    await trash.first().click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'New secret' }).waitFor()

    await choose(page, 'Change')
    await dialog.getByLabel('Name', { exact: true }).fill('Shop')
    await dialog.getByRole('button', { name: 'Remove Redirect URI 2' }).click()
    await dialog.getByRole('textbox', { name: 'URI after sign-out' }).fill('https://app.example.com/bye')
    await dialog.getByLabel('Groups').check()
    await dialog.getByLabel('Stay signed in').uncheck()
    await dialog.getByLabel('First party').check()
    await assertSound(t, page, 'a change of an application')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await heading(page, 'Shop').waitFor()
    const [changed] = await clients()
    t.match(changed, {
      redirect_uris: ['https://app.example.com/'],
      post_logout_redirect_uris: ['https://app.example.com/bye'],
      scopes: ['openid', 'profile', 'email', 'member:list', 'groups'],
      first_party: true,
    })

    await page.getByRole('button', { name: 'Sign-in pages' }).click()
    await page.getByLabel('Name on the pages').fill('Nordwind Shop')
    await page.getByLabel('Colour of buttons and links').fill('#ffd400')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Choose a darker one').waitFor()
    await page.getByLabel('Colour of buttons and links').fill('#7a1f5c')
    await page.locator('.brand-head').getByText('Nordwind Shop').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The pages are changed').waitFor()
    t.match(await clients(), [{ branding: { name: 'Nordwind Shop', accent: '#7a1f5c' } }])
    await assertSound(t, page, 'the look of an application')
    await assertNarrow(t, page, 'the look of an application', { look: true })
    for (const label of ['Name on the pages', 'Colour of buttons and links'])
      await page.getByLabel(label).fill('')
    const saved = page.waitForResponse((one) => one.request().method() === 'PATCH')
    await page.getByRole('button', { name: 'Save' }).click()
    await saved
    t.match(await clients(), [{ branding: null }], 'as the organisation has it')
    await page.getByRole('button', { name: 'Settings', exact: true }).click()

    await choose(page, 'Change')
    await dialog.getByLabel('Active').uncheck()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('This application is disabled').waitFor()
    const [disabled] = await clients()
    t.ok(isDeepStrictEqual(disabled, { ...changed, is_active: false }), 'nothing else has changed')

    await follow(page, '/applications')
    await page.getByText('First party').waitFor()
    await assertSound(t, page, 'applications')
    await assertNarrow(t, page, 'applications', { look: true })
    await page.getByRole('link', { name: 'Open Shop' }).click()
    await choose(page, 'Delete')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByText('Type Shop').waitFor()
    await dialog.getByLabel('Type its name to confirm').fill('Shop')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No application yet').waitFor()
    t.strictSame(
      faults.splice(0).filter((text) => !/40[04]/.test(text)),
      [],
    )
  },
)

t.test(
  'an admin keeps what owners alone set, is told what ends it, and an auditor only reads',
  { skip },
  async (t) => {
    const owner = await service.signUp()
    const body = { name: 'Shop', redirect_uris: [callback], first_party: true }
    const { id } = (await owner.post('/api/v1/oauth-clients/', body)).body
    const read = async () => (await owner.get(`/api/v1/oauth-clients/${id}/`)).body
    const { page } = await openPage(t)
    const dialog = page.locator('.dialog')
    await go(page, '/account')
    await signIn(page, await colleague(service, owner, 'admin'))
    await enter(page, owner.tenantId, id)
    await choose(page, 'Change')
    t.ok(await dialog.getByLabel('First party').isDisabled())
    await dialog.getByText('New URIs or a new secret from you end it').waitFor()
    await dialog.getByLabel('Name', { exact: true }).fill('Store')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await heading(page, 'Store').waitFor()
    t.match(await read(), { name: 'Store', first_party: true })
    await page.getByRole('button', { name: 'New secret' }).click()
    await dialog.getByText('no longer first party').waitFor()
    await dialog.getByRole('button', { name: 'Make the secret' }).click()
    await dialog.getByRole('button', { name: 'I have saved it' }).click()
    t.match(await read(), { first_party: false })

    const gate = { name: 'Two agree', effect: 'require_approval', actions: ['oauth_client:update'] }
    await owner.post('/api/v1/policies/', gate)
    await follow(page, '/applications')
    await page.getByRole('button', { name: 'Register an application' }).click()
    await dialog.getByLabel('Name', { exact: true }).fill('Till')
    await dialog.getByLabel('Redirect URI', { exact: true }).fill(callback)
    await dialog.getByRole('button', { name: 'Register' }).click()
    await page.getByText('This waits for an approval').waitFor()
    await heading(page, 'Till is registered').waitFor()
    await page.getByText('It has no secret yet').waitFor()

    const { page: other } = await openPage(t, { beside: true })
    await go(other, '/account')
    await signIn(other, await colleague(service, owner, 'auditor'))
    await enter(other, owner.tenantId, id)
    await other.getByText('Ready to paste').waitFor()
    const names = ['Actions', 'New secret', 'Delete this secret']
    await other.getByRole('button', { name: 'Sign-in pages' }).click()
    t.ok(await other.getByLabel('Name on the pages').isDisabled())
    t.equal(await other.getByRole('button', { name: 'Save' }).count(), 0)
    await other.getByRole('button', { name: 'Settings', exact: true }).click()
    for (const name of names) t.equal(await other.getByRole('button', { name, exact: true }).count(), 0, name)
  },
)

t.test('who uses an application is seen and ended, and what it was told', { skip }, async (t) => {
  const owner = await service.signUp()
  const person = await colleague(service, owner)
  const logoutUri = 'https://app.example.com/told'
  const app = await openApplication(service, owner, { name: 'Shop', backchannel_logout_uri: logoutUri })
  const { tokens } = await tokensFor(service, app, person, { scope: 'openid email offline_access' })
  const { page, faults } = await openPage(t)
  const dialog = page.locator('.dialog')
  await go(page, '/applications')
  await signIn(page, owner)
  await page.route('**/.well-known/openid-configuration', (route) =>
    route.fulfill({ json: { id_token_signing_alg_values_supported: ['ES256'] } }),
  )
  await page.getByRole('link', { name: 'Open Shop' }).click()
  await page.getByText('ES256').waitFor() // RS256, which the application has, is not offered
  await page.unroute('**/.well-known/openid-configuration')
  await page.getByRole('button', { name: 'People' }).click()
  await page.getByText(person.email).waitFor()
  await page.getByText('Stay signed in').waitFor()
  await assertSound(t, page, 'the people of an application')
  await assertNarrow(t, page, 'the people of an application', { look: true })
  await page.getByRole('button', { name: `End the access for ${person.email}` }).click()
  await dialog.getByRole('button', { name: 'End the access' }).click()
  await page.getByText('No one yet').waitFor()
  await t.rejects(refreshTokenGrant(app.config, tokens.refresh_token!), invalidGrant)
  await page.getByRole('button', { name: 'Sign-outs' }).click()
  await page.getByRole('cell', { name: 'Pending' }).waitFor()
  await assertSound(t, page, 'what an application was told')
  await assertNarrow(t, page, 'what an application was told', { look: true })

  const { tokens: own } = await tokensFor(service, app, owner, { scope: 'openid email offline_access' })
  await follow(page, '/account/sessions')
  await page.getByText('Where you signed in with this account').waitFor()
  await assertSound(t, page, 'applications of a person')
  await assertNarrow(t, page, 'applications of a person', { look: true })
  await page.getByRole('button', { name: 'Remove the access: Shop' }).click()
  await dialog.getByRole('button', { name: 'Remove the access' }).click()
  await page.getByText('The access is removed').waitFor()
  await t.rejects(refreshTokenGrant(app.config, own.refresh_token!), invalidGrant)
  t.strictSame(faults.splice(0), [])
})

t.test('a machine, an application with a key, and an API', { skip }, async (t) => {
  const owner = await service.signUp()
  const account = (await owner.post('/api/v1/service-accounts/', { name: 'Night job', roles: ['member'] }))
    .body
  const { page, faults } = await openPage(t)
  const dialog = page.locator('.dialog')
  const clients = async () => (await owner.get('/api/v1/oauth-clients/?ordering=created_at')).body.results
  await go(page, '/applications')
  await signIn(page, owner)
  const register = page.getByRole('button', { name: 'Register an application' })
  await register.click()
  await dialog.getByLabel('Machine').check()
  t.equal(await dialog.getByLabel('Redirect URI', { exact: true }).count(), 0)
  await dialog.getByLabel('Name', { exact: true }).fill('Nightly')
  await dialog.getByLabel('Service account', { exact: true }).selectOption('Night job')
  await dialog.getByLabel('Permissions', { exact: true }).fill('member:list,')
  await assertSound(t, page, 'a new machine')
  await assertNarrow(t, page, 'a new machine', { look: true })
  await dialog.getByRole('button', { name: 'Register' }).click()
  await heading(page, 'Nightly is registered').waitFor()
  await page.getByText('The secret is shown only this once').waitFor()
  await page.getByRole('link', { name: 'Night job' }).waitFor()
  t.match(await clients(), [
    {
      kind: 'machine',
      service_account_id: account.id,
      scopes: ['member:list'],
      token_endpoint_auth_method: 'client_secret_basic',
    },
  ])

  await page.getByRole('button', { name: 'I have saved it' }).click()
  await heading(page, 'Nightly').waitFor()
  await follow(page, '/applications')
  await register.click()
  await dialog.getByLabel('Name', { exact: true }).fill('Signed')
  await dialog.getByLabel('Redirect URI', { exact: true }).fill(callback)
  await dialog.getByRole('button', { name: 'Advanced' }).click()
  await dialog.getByLabel('Client authentication').selectOption('private_key_jwt')
  await dialog.getByLabel('Public keys', { exact: true }).fill('{')
  await dialog.getByLabel('ID tokens are signed with').selectOption('ES256')
  await dialog.getByLabel('The claim groups has').selectOption('both')
  await dialog.getByLabel('Require PKCE').check()
  await assertSound(t, page, 'advanced fields of an application')
  await assertNarrow(t, page, 'advanced fields of an application', { look: true })
  await dialog.getByRole('button', { name: 'Register' }).click()
  await dialog.getByText('This is no JSON').waitFor()
  const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
  await dialog.getByLabel('Public keys', { exact: true }).fill(JSON.stringify({ keys: [jwk] }))
  await dialog.getByRole('button', { name: 'Register' }).click()
  await heading(page, 'Signed is registered').waitFor()
  t.equal(await page.getByText(/secret/i).count(), 0, 'it has none')
  t.match((await clients())[1], {
    token_endpoint_auth_method: 'private_key_jwt',
    id_token_signed_response_alg: 'ES256',
    groups: 'both',
    require_pkce: true,
    require_par: false,
  })
  await page.getByRole('button', { name: 'Go to the application' }).click()
  await heading(page, 'Signed').waitFor()
  t.equal(await page.getByRole('button', { name: 'New secret' }).count(), 0)
  await page.getByText('One key').waitFor()
  const before = await clients()
  await choose(page, 'Change')
  await dialog.getByRole('button', { name: 'Advanced' }).click()
  await dialog.getByLabel('Require pushed requests').check()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The application is changed').waitFor()
  t.ok(
    isDeepStrictEqual((await clients())[1], { ...before[1], require_par: true }),
    'the keys are as they were',
  )

  await follow(page, '/applications')
  await page.getByRole('button', { name: 'APIs' }).click()
  await page.getByText('No API yet').waitFor()
  await page.getByRole('button', { name: 'Register an API' }).click()
  await dialog.getByLabel('Name', { exact: true }).fill('Invoices')
  await dialog.getByLabel('Identifier').fill('https://invoices.example.com')
  await dialog.getByLabel('Permission', { exact: true }).fill('invoice')
  await dialog.getByLabel('In words', { exact: true }).fill('See your invoices')
  await dialog.getByLabel('Applications that may ask').fill((await clients())[0].id)
  await dialog.getByLabel('Name', { exact: true }).focus()
  await dialog.getByText('Nightly').waitFor()
  await dialog.getByRole('button', { name: 'Register' }).click()
  await dialog.locator('.field-fault').waitFor()
  await assertSound(t, page, 'a new API')
  await assertNarrow(t, page, 'a new API', { look: true })
  await dialog.getByLabel('Permission', { exact: true }).fill('invoice:read')
  await dialog.getByRole('button', { name: 'Register' }).click()
  await page.getByText('https://invoices.example.com').waitFor()
  await assertSound(t, page, 'APIs')
  await assertNarrow(t, page, 'APIs', { look: true })
  await page.getByRole('button', { name: 'Actions for Invoices' }).click()
  await page.getByRole('menuitem', { name: 'Change' }).click()
  await dialog.getByLabel('Name', { exact: true }).fill('Bills')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Bills').waitFor()
  t.match((await owner.get('/api/v1/oauth-resources/')).body.results, [
    {
      name: 'Bills',
      scopes: [{ permission: 'invoice:read', description: 'See your invoices' }],
      client_ids: [before[0].id],
    },
  ])
  await page.getByRole('button', { name: 'Actions for Bills' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No API yet').waitFor()
  t.strictSame(
    faults.splice(0).filter((text) => !/400/.test(text)),
    [],
  )
})
