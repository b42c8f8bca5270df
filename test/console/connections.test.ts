import t from 'tap'
import { noChromium } from '../helpers/chromium.ts'
import { query } from '../helpers/query.ts'
import { startService } from '../helpers/service.ts'
import { startDns } from '../tenancy/domains/dns-server.ts'
import { assertNarrow, assertSound, follow, heading, openChromium, signIn } from './real-browser.ts'

// Where the people of an organisation sign in, in a real browser.

const skip = noChromium
const dns = await startDns(t)
const service = await startService(t, {
  env: { DNS_RESOLVERS: `${dns.address},${dns.address}` },
})
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
