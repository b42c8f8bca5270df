import t from 'tap'
import { addAuthenticator, noChromium } from '../helpers/chromium.ts'
import { colleague } from '../helpers/colleague.ts'
import { proveAddress } from '../helpers/prove-address.ts'
import { claimsOf, tokenIn } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { changeRows, codeAt, enrol, requireMfa, startBeside } from '../identity/otp/authenticator.ts'
import { originOf } from '../identity/passkeys/software-passkey.ts'
import { assertSound, heading, openChromium, signIn } from './real-browser.ts'

// Ways in and out in a real browser.

const skip = noChromium
const service = await sharedService(t)
const { openPage, go } = await openChromium(t, service)

t.test('a person signs in with an app, and the browser holds no secret', { skip }, async (t) => {
  const person = await service.signUp()
  const { secret } = await enrol(service, person)
  const { page, faults, own } = await openPage(t)
  await go(page, '/account/security')
  await assertSound(t, page, 'address')
  await signIn(page, { ...person, password: 'wrong wrong wrong' })
  await page.getByRole('alert').getByText('do not match').waitFor()
  await assertSound(t, page, 'password')
  await page.getByLabel('Password', { exact: true }).fill(person.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await heading(page, 'Confirm that it is you').waitFor()
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
  t.equal(faults.filter((text) => !/40[01]/.test(text)).join('\n'), '')
  const cookie = (await own.cookies()).find(({ name }) => name === 'bailiwick')
  t.match(cookie, { name: 'bailiwick', httpOnly: true, sameSite: 'Strict' })
  t.throws(() => claimsOf(cookie!.value), 'the cookie is no token')
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
    for (const tab of [page, other]) await heading(tab, 'You are signed out').waitFor()
    await page.goBack().catch(() => undefined)
    await page.locator('h1').first().waitFor()
    t.equal(await heading(page, 'Profile').count(), 0, 'the way back shows nothing of the session')
    await other.getByRole('button', { name: 'Sign in' }).click()
    await signIn(other, person)
    await other.getByText('This session').waitFor()
    await person.post('/api/v1/auth/logout-all/')
    await other.getByRole('link', { name: 'Security' }).click()
    await other.getByText('Your session has ended').waitFor()
    await other.getByRole('button', { name: 'Sign in' }).click()
    await signIn(other, person)
    await heading(other, 'Security').waitFor()
    t.pass('and goes on where it was')
  },
)

t.test('the page of a mailed link is sound, whether the link works or not', { skip }, async (t) => {
  const person = await service.signUp()
  await service.call('POST', '/api/v1/auth/password/reset/', { body: { email: person.email } })
  const token = tokenIn(await service.mailTo(person.email, 'Reset'))
  const { page } = await openPage(t)
  await page.goto(`${service.url}/reset-password?token=${token}`)
  await page.getByLabel('New password').fill('an even quieter harbour')
  await assertSound(t, page, 'a mailed link')
  await page.getByRole('button', { name: 'Set password' }).click()
  await heading(page, 'Your password is changed').waitFor()
  await assertSound(t, page, 'a used link')
  await page.goto(`${service.url}/reset-password?token=${token}`)
  await page.getByLabel('New password').fill('an even quieter harbour')
  await page.getByRole('button', { name: 'Set password' }).click()
  await heading(page, 'This link does not work any more').waitFor()
  await assertSound(t, page, 'a dead link')
})

t.test('a passkey at another address than its own says that it did not work', { skip }, async (t) => {
  const { page } = await openPage(t)
  await go(page, '/', originOf(service).replace('localhost', '127.0.0.1'))
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.getByRole('status').getByText('passkey').waitFor()
  t.equal(await page.getByLabel('E-mail address').count(), 1, 'the other ways stay')
})

t.test('a person adds a passkey, and signs in with it without a password', { skip }, async (t) => {
  const person = await service.signUp()
  const { page, faults } = await openPage(t)
  await addAuthenticator(page)
  await go(page, '/account/security', originOf(service))
  await signIn(page, person)
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('Laptop')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('Your passkey is added').waitFor()
  await page.getByRole('listitem').getByText('Laptop').waitFor()
  await page.getByRole('button', { name: person.email }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await heading(page, 'You are signed out').waitFor()
  // Its authenticator answers at once what the page offers among the suggestions for the address.
  await go(page, '/account/security', originOf(service))
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

t.test('an invitation waits in the switcher, and joining enters the organisation', { skip }, async (t) => {
  const [owner, person] = [await service.signUp(), await service.signUp()]
  await proveAddress(service, person)
  const invite = { email: person.email, roles: ['auditor'] }
  await owner.post(`/api/v1/tenants/${owner.tenantId}/invitations/`, invite)
  await changeRows(service, `update tenants set name = 'Lagoon' where id = '${owner.tenantId}'`)
  const { page, faults } = await openPage(t)
  await go(page, '/account/security')
  await signIn(page, person)
  const switcher = page.locator('.switcher').first()
  await switcher.getByText('1 invitation').waitFor()
  await switcher.click()
  await page.getByRole('menuitem', { name: 'Lagoon' }).click()
  await page.getByText(`${owner.email} invites you, with the role auditor.`).waitFor()
  await assertSound(t, page, 'joining an organisation')
  await page.getByRole('dialog').getByRole('button', { name: 'Join' }).click()
  await page.getByText('You are now in Lagoon').waitFor()
  await switcher.getByText('Lagoon').waitFor()
  t.equal(await switcher.getByText('1 invitation').count(), 0)
  t.strictSame(faults, [])
})
