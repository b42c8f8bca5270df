import t from 'tap'
import { noChromium as skip } from '../helpers/chromium.ts'
import { startService } from '../helpers/service.ts'
import { assertNarrow, assertSound, openChromium, signIn } from './real-browser.ts'

// What keeps the members of an organisation, in a real browser.

const service = await startService(t, { workers: false })
const { openPage, go } = await openChromium(t, service)

t.test(
  'an owner connects a directory, gives its groups roles, and sees its requests',
  { skip },
  async (t) => {
    const owner = await service.signUp()
    const { page, faults } = await openPage(t)
    const dialog = page.locator('.dialog')
    await go(page, '/directory')
    await signIn(page, owner)
    await page.getByText('No rule yet').waitFor()
    await page.getByRole('button', { name: 'Make a key' }).click()
    await dialog.getByLabel('Directory').selectOption('Okta')
    await dialog.getByRole('button', { name: 'Make the key' }).click()
    const key = await dialog.locator('.secret code').textContent()
    const call = (method: string, path: string, body?: object) =>
      service.call(method, `/scim/v2${path}`, { token: key!, ...(body && { body }) })
    t.match(await call('POST', '/Groups', { displayName: 'Crew' }), { status: 201 })
    t.match(await call('POST', '/Groups', { displayName: 'crew' }), { status: 409 })
    await dialog.getByRole('button', { name: 'I have saved it' }).click()
    await page.reload()
    await page.getByText('Another group has this displayName.').waitFor()
    await page.getByRole('button', { name: 'Add a rule' }).click()
    await dialog.getByLabel('Group').selectOption('Crew (0)')
    await dialog.getByLabel('auditor').check()
    await assertSound(t, page, 'a rule of a directory')
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('button', { name: 'Remove the rule of Crew' }).waitFor()
    t.match((await owner.get('/api/v1/directory/rules/')).body, { results: [{ group_name: 'Crew' }] })
    await assertSound(t, page, 'the directory')
    await assertNarrow(t, page, 'the directory', { look: true })
    await page.getByRole('button', { name: 'Remove the rule of Crew' }).click()
    await dialog.getByRole('button', { name: 'Remove the rule' }).click()
    await page.getByText('No rule yet').waitFor()
    t.same(faults, [])
  },
)
