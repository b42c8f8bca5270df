import t from 'tap'
import { noChromium } from '../helpers/chromium.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { createOwnKey } from '../identity/api-keys/holders.ts'
import { assertNarrow, assertSound, follow, heading, openChromium, signIn } from './real-browser.ts'

// How a person throws others out of their account, in a real browser.

const skip = noChromium
const service = await sharedService(t, { workers: false })
const { openPage, go } = await openChromium(t, service)

t.test(
  'a person changes the password and signs out everywhere, with or without their keys',
  { skip },
  async (t) => {
    const person = await service.signUp()
    const [first, second] = [await createOwnKey(service, person), await createOwnKey(service, person)]
    const works = async (key: typeof first) => (await key.get('/api/v1/users/me/')).status === 200
    const { page, faults } = await openPage(t)
    const dialog = page.locator('.dialog')
    await go(page, '/account/security')
    await signIn(page, person)

    await page.getByRole('button', { name: 'Change password' }).click()
    const change = async (current: string, next: string) => {
      await dialog.getByLabel('Present password').fill(current)
      await dialog.getByLabel('New password').fill(next)
      await dialog.getByRole('button', { name: 'Change password' }).click()
      await page.getByText('Your password is changed').last().waitFor()
    }
    await assertSound(t, page, 'a new password')
    await assertNarrow(t, page, 'a new password', { look: true })
    await change(person.password, 'another quiet harbour')
    t.ok(await works(first), 'the keys stay')
    await dialog.waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Change password' }).click()
    await dialog.getByLabel('Revoke my API keys, too').check()
    await change('another quiet harbour', 'a third quiet harbour')
    await page.getByText('Your API keys are revoked.').waitFor()
    t.notOk((await works(first)) || (await works(second)))

    const again = await service.logIn({ ...person, password: 'a third quiet harbour' })
    const third = await createOwnKey(service, again)
    await follow(page, '/account/sessions')
    await page.getByRole('button', { name: 'Sign out everywhere' }).click()
    await dialog.getByLabel('Revoke my API keys, too').check()
    await assertSound(t, page, 'sign out everywhere')
    await dialog.getByRole('button', { name: 'Sign out everywhere' }).click()
    await heading(page, 'You are signed out').waitFor()
    t.notOk(await works(third))
    t.equal((await again.get('/api/v1/users/me/')).status, 401)
    t.strictSame(
      faults.filter((text) => !/401/.test(text)),
      [],
    )
  },
)

t.test('a change beyond the quota of the day says when the next one is possible', { skip }, async (t) => {
  const { page } = await openPage(t)
  await go(page, '/account')
  await signIn(page, await service.signUp())
  await page.route('**/console/api/users/me/', (route) =>
    route.request().method() === 'GET'
      ? route.continue()
      : route.fulfill({
          status: 429,
          headers: { 'retry-after': '3600' },
          body: '{"code":"quota_exceeded","detail":"The words of the service."}',
        }),
  )
  await page.getByLabel('First name').fill('Grace')
  await page.getByRole('button', { name: 'Save' }).click()
  const said = page.getByRole('alert').getByText(/^Today’s changes have filled the logs/)
  t.match(await said.innerText(), /You can go on at \d{1,2}:\d\d [AP]M\./)
  await assertSound(t, page, 'a quota that is used up')
})
