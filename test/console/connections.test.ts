import { randomUUID } from 'node:crypto'
import t from 'tap'
import { activeConnection, verifiedDomain } from '../federation/active-connection.ts'
import { startProvider } from '../federation/provider.ts'
import { idp } from '../federation/saml/certificates.ts'
import { metadataXml } from '../federation/saml/identity-provider.ts'
import { noChromium } from '../helpers/chromium.ts'
import { colleague } from '../helpers/colleague.ts'
import { proveAddress } from '../helpers/prove-address.ts'
import { query } from '../helpers/query.ts'
import { startService } from '../helpers/service.ts'
import { startDns } from '../tenancy/domains/dns-server.ts'
import { assertNarrow, assertSound, follow, heading, openChromium, signIn } from './real-browser.ts'

// Where the people of an organisation sign in, in a real browser.

const skip = noChromium
const dns = await startDns(t)
const service = await startService(t, {
  env: {
    DNS_RESOLVERS: `${dns.address},${dns.address}`,
    FEDERATION_ALLOWED_HOSTS: 'localhost',
    SOCIAL_PROVIDERS: JSON.stringify([
      {
        id: 'nordwind',
        name: 'Nordwind ID',
        kind: 'oidc',
        issuer: 'https://id.nordwind.example',
        client_id: 'a',
        client_secret: 'b',
      },
    ]),
  },
})
const provider = await startProvider(t)
const { openPage, go } = await openChromium(t, service)

t.test('an owner claims a domain, verifies it, lends it, and gives it up', { skip }, async (t) => {
  const [owner, borrower] = [await service.signUp(), await service.signUp()]
  const { page, faults } = await openPage(t)
  const dialog = page.locator('.dialog')
  const stored = async () => (await owner.get('/api/v1/domains/')).body.results
  await go(page, '/domains')
  await signIn(page, owner)
  await page.getByText('No domain yet').waitFor()
  await page.getByRole('button', { name: 'Claim a domain' }).click()
  await dialog.getByLabel('Domain', { exact: true }).fill('gmail.com')
  await dialog.getByRole('button', { name: 'Claim' }).click()
  await dialog.locator('.field-fault').waitFor()
  await assertSound(t, page, 'a claim')
  await assertNarrow(t, page, 'a claim', { look: true })
  await dialog.getByLabel('Domain', { exact: true }).fill('Nordwind.example')
  await dialog.getByLabel('Subdomains, too').check()
  await dialog.getByRole('button', { name: 'Claim' }).click()
  await heading(page, 'nordwind.example').waitFor()
  const [claimed] = await stored()
  t.match(claimed, { domain: 'nordwind.example', route: 'always', subdomains: true })

  await page.getByRole('button', { name: 'Verify' }).click()
  await page.getByRole('alert').getByText('The DNS has no TXT record').waitFor()
  await assertSound(t, page, 'a domain')
  await assertNarrow(t, page, 'a domain', { look: true })
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  for (const [of, text] of [
    ['Name', claimed.record.name],
    ['Value', claimed.record.value],
  ]) {
    await page.getByRole('button', { name: `Copy ${of}` }).click()
    await page.getByRole('button', { name: `Copied ${of}` }).waitFor()
    t.equal(await page.evaluate('navigator.clipboard.readText()'), text)
  }
  dns.records.set(claimed.record.name, [claimed.record.value])
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.getByText('The domain is verified').waitFor()
  t.equal((await stored())[0].status, 'verified')

  await page.getByRole('button', { name: 'Lend it' }).click()
  await dialog.getByLabel('Id of the organisation').fill(owner.tenantId)
  await dialog.getByRole('button', { name: 'Lend it' }).click()
  await dialog.getByText('that of this tenant already').waitFor()
  await assertSound(t, page, 'a loan')
  await dialog.getByLabel('Id of the organisation').fill(borrower.tenantId)
  await dialog.getByRole('button', { name: 'Lend it' }).click()
  await page.getByRole('button', { name: `End the loan to ${borrower.tenantId}` }).waitFor()
  await assertSound(t, page, 'a domain that is lent')
  await assertNarrow(t, page, 'a domain that is lent', { look: true })
  await page.getByRole('button', { name: `End the loan to ${borrower.tenantId}` }).click()
  await dialog.getByRole('button', { name: 'End the loan' }).click()
  await page.getByText('The loan has ended').waitFor()

  await page.getByRole('button', { name: 'Actions', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Change' }).click()
  await dialog.getByLabel('Sign-ins with addresses').selectOption('never')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The domain is changed').waitFor()
  t.match(await stored(), [{ route: 'never', subdomains: true }])

  const away = (status: string) =>
    query(
      service.databases.superuser,
      `update domains set status = '${status}', missing_since = timestamptz '2026-11-20 12:00Z' where id = '${claimed.id}'`,
    )
  await away('verified')
  await page.reload()
  await page.getByText('lost on Dec 4, 2026').waitFor()
  await assertSound(t, page, 'a domain without its record')
  await away('lost')
  await follow(page, '/domains')
  await page.getByRole('cell', { name: 'Lost' }).waitFor()
  await assertSound(t, page, 'domains')
  await assertNarrow(t, page, 'domains', { look: true })
  await page.getByRole('link', { name: 'Open nordwind.example' }).click()
  await page.getByText('The domain is lost').waitFor()
  await page.getByRole('button', { name: 'Actions', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Give it up' }).click()
  await dialog.getByRole('button', { name: 'Give it up' }).click()
  await page.getByText('No domain yet').waitFor()
  t.strictSame(
    faults.splice(0).filter((text) => !/40[049]/.test(text)),
    [],
  )
})

t.test(
  'an owner sets a connection up, tries it, activates it, and gives roles by claims',
  { skip },
  async (t) => {
    const owner = await service.signUp()
    const { page, faults } = await openPage(t)
    const dialog = page.locator('.dialog')
    const stored = async () => (await owner.get('/api/v1/connections/')).body.results[0]
    const choose = async (item: string) => {
      await page.getByRole('button', { name: 'Actions', exact: true }).click()
      await page.getByRole('menuitem', { name: item }).click()
    }
    await go(page, '/connections')
    await signIn(page, owner)
    await page.getByText('No connection yet').waitFor()
    await page.getByRole('button', { name: 'Set up a connection' }).click()
    await dialog.getByLabel('Name', { exact: true }).fill('<b>Nordwind</b>')
    await dialog.getByLabel('Issuer', { exact: true }).fill('http://10.0.0.1')
    await dialog.getByLabel('Client ID', { exact: true }).fill(provider.clientId)
    await dialog.getByLabel('Client secret', { exact: true }).fill(provider.clientSecret)
    await dialog.getByRole('button', { name: 'Set up' }).click()
    await dialog.locator('.field-fault').waitFor()
    await assertSound(t, page, 'a new connection')
    await assertNarrow(t, page, 'a new connection', { look: true })
    await dialog.getByLabel('Issuer', { exact: true }).fill(provider.issuer)
    await dialog.getByRole('button', { name: 'Set up' }).click()
    await heading(page, '<b>Nordwind</b>').waitFor()
    const { id } = await stored()
    await page.getByText(`${service.url}/sign-in/callback/${id}/`).waitFor()
    await page.getByText('It has not been tried as it is now').waitFor()
    t.equal(
      await page.getByRole('button', { name: 'Activate' }).count(),
      0,
      'what was not tried is not activated',
    )
    await assertSound(t, page, 'a draft')
    await assertNarrow(t, page, 'a draft', { look: true })

    await page.getByRole('button', { name: 'Add a rule' }).click()
    await dialog.getByLabel('Claim', { exact: true }).fill('groups')
    await dialog.getByRole('button', { name: 'Add' }).click()
    await dialog.getByText('Give value.').waitFor()
    await dialog.getByLabel('Value', { exact: true }).fill('staff')
    await dialog.getByLabel('auditor').check()
    await assertSound(t, page, 'a rule')
    await assertNarrow(t, page, 'a rule', { look: true })
    await dialog.getByRole('button', { name: 'Add' }).click()
    await page.getByRole('cell', { name: 'groups is staff', exact: true }).waitFor()

    const tried = async () => {
      const opened = page.context().waitForEvent('page')
      await page.getByRole('button', { name: 'Try it' }).click()
      const tab = await opened
      await tab.waitForURL((url) => url.searchParams.has('state'), { waitUntil: 'commit' })
      await tab.goto(provider.signIn(tab.url()))
      const text = await tab.locator('main').innerText()
      await tab.close()
      await page.bringToFront()
      return text
    }
    provider.lies = { claims: { aud: 'another' } }
    t.match(
      await tried(),
      /the ID token has the aud "another", and this connection "bailiwick"/,
      'a refusal says what is wrong',
    )
    provider.lies = {}
    t.match(await tried(), /ada@nordwind\.example/)
    await page.reload()
    await page.getByText('It was tried as it is now').waitFor()
    await page.getByRole('button', { name: 'Activate' }).click()
    await assertSound(t, page, 'an activation')
    await dialog.getByRole('button', { name: 'Activate' }).click()
    await page.getByText('The connection is active').waitFor()
    await assertSound(t, page, 'a connection')
    await assertNarrow(t, page, 'a connection', { look: true })

    await follow(page, '/organisation')
    await page.getByLabel('Require your identity provider').check()
    await page.getByRole('button', { name: 'Save' }).nth(1).click()
    await page.getByRole('alert').getByText('Sign in by an active connection').waitFor()
    t.equal((await owner.get(`/api/v1/tenants/${owner.tenantId}/`)).body.settings.sso, 'off')
    await follow(page, '/connections')
    await page.getByRole('link', { name: 'Open <b>Nordwind</b>' }).click()
    await choose('Change')
    await dialog.getByText('makes a draft of it').waitFor()
    await dialog.getByLabel('Name', { exact: true }).fill('Nordwind')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await heading(page, 'Nordwind').waitFor()
    t.match(await stored(), { status: 'active', mapping: [{ claim: 'groups', value: 'staff' }] })
    await choose('Disable')
    await dialog.getByRole('button', { name: 'Disable' }).click()
    await page.getByText('It is disabled').waitFor()
    await choose('Change')
    await dialog.getByLabel('New people become members').check()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('It has not been tried as it is now').waitFor()
    t.match(await stored(), { status: 'draft', jit: 'verified_domains' })
    await tried()
    await query(service.databases.superuser, `update connections set tested_by = null where id = '${id}'`)
    await page.reload()
    await page.getByRole('button', { name: 'Activate' }).click()
    await dialog.getByRole('button', { name: 'Activate' }).click()
    await dialog.getByText('the try of another person').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()

    await page.getByRole('button', { name: 'Actions for groups is staff' }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await dialog.getByText('makes a draft of it').waitFor()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('The rule is removed').waitFor()
    await follow(page, '/connections')
    await page.getByRole('cell', { name: 'Draft' }).waitFor()
    await assertSound(t, page, 'connections')
    await assertNarrow(t, page, 'connections', { look: true })
    await page.getByRole('link', { name: 'Open Nordwind' }).click()
    await choose('Delete')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No connection yet').waitFor()

    await page.getByRole('button', { name: 'Set up a connection' }).click()
    await dialog.getByRole('radio', { name: 'SAML' }).check()
    await dialog.getByLabel('Name', { exact: true }).fill('Firm')
    await dialog.getByLabel('Or the metadata itself').fill('<a/>')
    await dialog.getByRole('button', { name: 'Set up' }).click()
    await dialog.locator('.field-fault').waitFor()
    await assertSound(t, page, 'a new connection of SAML')
    await dialog.getByLabel('Or the metadata itself').fill(metadataXml(idp.certificate))
    await dialog.getByRole('button', { name: 'Set up' }).click()
    await heading(page, 'Firm').waitFor()
    await page.getByText(`${service.url}/saml/`).first().waitFor()
    await assertSound(t, page, 'a connection of SAML')
    await assertNarrow(t, page, 'a connection of SAML', { look: true })
    t.strictSame(
      faults.splice(0).filter((text) => !/40[049]/.test(text)),
      [],
    )
  },
)

t.test('a refusal leads to the sign-in that it asks for, and back', { skip }, async (t) => {
  const owner = await service.signUp()
  const person = await colleague(service, owner)
  const domain = `${randomUUID()}.example`
  await verifiedDomain(service, owner, domain, [], { route: 'never' })
  const id = await activeConnection(service, owner, provider)
  const email = `ada@${domain}`
  const { superuser } = service.databases
  await query(superuser, `update users set email = '${email}' where id = '${person.id}'`)
  await proveAddress(service, person)
  provider.person = { sub: randomUUID(), email }
  await owner.patch(`/api/v1/tenants/${owner.tenantId}/`, { name: 'Nordwind' })
  const { page, faults } = await openPage(t)
  const dialog = page.locator('.dialog')
  await go(page, '/account/security')
  await signIn(page, { ...person, email })
  await heading(page, 'Security').waitFor()
  const enter = async () => {
    await page.locator('.side .switcher').first().click()
    await page.getByRole('menuitem').filter({ hasText: 'Nordwind' }).click()
  }
  await enter()
  await page.getByText('You are now in Nordwind').waitFor()
  await query(
    superuser,
    `update tenants set settings = settings || '{"sso": "required"}' where id = '${owner.tenantId}'`,
  )
  await query(superuser, `update browser_sessions set checked_until = '2020-01-01'`)
  await page.reload()
  await page.getByText('has its members sign in by its identity provider').waitFor()
  await assertSound(t, page, 'a session that goes on at the provider')
  await assertNarrow(t, page, 'a session that goes on at the provider', { look: true })
  await page.getByRole('button', { name: 'Sign in by the organisation' }).click()
  await page.waitForURL((url) => url.pathname === `/sign-in/with/${id}/`)
  await page.route(`${provider.issuer}/authorize**`, (route) =>
    route.fulfill({ status: 303, headers: { location: provider.signIn(route.request().url()) } }),
  )
  await page.getByRole('button', { name: 'Continue' }).click()
  await heading(page, 'Security').waitFor()

  await page.getByRole('button', { name: 'Change password' }).click()
  await dialog.getByLabel('Present password').fill(person.password)
  await dialog.getByLabel('New password').fill('another quiet harbour')
  await dialog.getByRole('button', { name: 'Change password' }).click()
  const other = dialog.getByRole('link', { name: 'Sign in in another way' })
  await other.waitFor()
  await assertSound(t, page, 'what a session by a connection may not do')
  await assertNarrow(t, page, 'what a session by a connection may not do', { look: true })
  await other.click()
  await signIn(page, { ...person, email })
  await page.waitForURL((url) => url.pathname === '/console/account/security')
  await enter()
  const way = page.getByRole('alert').getByRole('link', { name: 'Sign in by the organisation' })
  t.match(await way.getAttribute('href'), new RegExp(`/sign-in/with/${id}/\\?return_to=`))
  await assertSound(t, page, 'a switch that leads to the provider')

  provider.lies = { claims: { aud: 'another' } }
  await page.goto(`${service.url}/sign-in/with/${id}/`)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('alert').waitFor()
  provider.lies = {}
  await query(superuser, `update tenants set settings = settings - 'sso' where id = '${owner.tenantId}'`)
  await page.context().clearCookies()
  await go(page, `/connections/${id}`)
  await signIn(page, owner)
  await page.getByText('the ID token has the aud "another"').waitFor()
  await page.getByRole('cell', { name: 'Signed in' }).waitFor()
  await assertSound(t, page, 'the last sign-ins by a connection')
  await assertNarrow(t, page, 'the last sign-ins by a connection', { look: true })
  await page.getByRole('button', { name: `Details of a sign-in: ${email}` }).click()
  t.match(
    await dialog.innerText(),
    new RegExp(`What the provider says[^]*email\\s+${email}[^]*aud\\s+bailiwick`),
  )
  await assertSound(t, page, 'a sign-in by a connection')
  await assertNarrow(t, page, 'a sign-in by a connection', { look: true })
  t.strictSame(
    faults.splice(0).filter((text) => !/40[013]/.test(text)),
    [],
  )
})

t.test(
  'a person sees their accounts at other providers, and keeps one way to sign in',
  { skip },
  async (t) => {
    const person = await service.signUp()
    const link = (provider: string) =>
      query(
        service.databases.superuser,
        `insert into federated_identities (id, user_id, provider, issuer, attribute, subject, email, created_at)
       values (gen_random_uuid(), '${person.id}', '${provider}', 'https://id.example', 'sub', gen_random_uuid(), 'ada@nordwind.example', now())`,
      )
    await link('nordwind')
    await link('gone')
    const { page, faults } = await openPage(t)
    const dialog = page.locator('.dialog')
    await go(page, '/account/security')
    await signIn(page, person)
    await page.getByText('Nordwind ID').waitFor()
    await page.getByText('A provider that is no longer here').waitFor()
    await assertSound(t, page, 'accounts at other providers')
    await assertNarrow(t, page, 'accounts at other providers', { look: true })
    await page.route('**/users/me/identities/*/', (route) =>
      route.fulfill({
        status: 409,
        json: { code: 'last_factor', detail: 'You have no other way to sign in.' },
      }),
    )
    await page.getByRole('button', { name: 'Remove Nordwind ID' }).click()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await dialog.getByText('You have no other way to sign in').waitFor()
    await page.unroute('**/users/me/identities/*/')
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('The account there is no longer linked').waitFor()
    await page.getByText('Nordwind ID', { exact: true }).waitFor({ state: 'detached' })
    t.strictSame(
      faults.splice(0).filter((text) => !/409/.test(text)),
      [],
    )
  },
)
