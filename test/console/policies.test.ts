import type { Page } from 'playwright-core'
import t from 'tap'
import { noChromium } from '../helpers/chromium.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { changeRows } from '../identity/otp/authenticator.ts'
import { assertSound, follow, heading, openChromium, signIn } from './real-browser.ts'

// What the console asks the service on the pages about policies, and what it says if the service refuses.

const skip = noChromium
const service = await sharedService(t)
const { openPage, go } = await openChromium(t, service)

/** The requests of a page from now on, without those for its files. `taken` gives them, and forgets them. */
function listenTo(page: Page) {
  const asked: string[] = []
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (pathname.startsWith('/console/api/'))
      asked.push(`${request.method()} ${pathname.slice('/console/api'.length)}`)
  })
  return () => asked.splice(0)
}

t.test('an owner of 500 policies', { skip }, async (t) => {
  const owner = await service.signUp()
  const { page, faults } = await openPage(t)
  const taken = listenTo(page)
  await go(page, '/playground')
  await signIn(page, owner)
  await heading(page, 'Playground').waitFor()
  const dialog = page.locator('.dialog')

  await t.test('the playground asks about a policy only after it is begun', async (t) => {
    await page.getByText('Begin with:').waitFor()
    await page.waitForTimeout(700) // the editor asks 500 ms after the last key, the question 600 ms
    t.strictSame(
      taken().filter((one) => one.startsWith('POST')),
      [],
    )
    await page.getByRole('button', { name: 'Deny at some hours' }).click()
    await page.getByText(/The policy (applies|does not apply)\./).waitFor()
    await page.getByText('No faults').waitFor()
    await assertSound(t, page, 'the playground with an example')
    await page.getByRole('button', { name: 'Write it as a policy' }).click()
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await heading(page, 'No invitations at night').waitFor()
  })

  await t.test('the list, its filters and the editor make as many requests as with one policy', async (t) => {
    const requests = async () => {
      await go(page, '/policies')
      await page.getByText('in all').waitFor()
      const list = taken().sort()
      await page
        .getByRole('link', { name: /^No invitations at night/ })
        .first()
        .click()
      await page.getByText('No faults').waitFor()
      return { list, editor: taken().sort() }
    }
    taken()
    const one = await requests()
    await changeRows(
      service,
      `with copies as (
       insert into policies select (jsonb_populate_record(p, jsonb_build_object(
         'id', gen_random_uuid(), 'name', p.name || ' ' || n, 'effect', case when n % 2 = 0 then 'deny' else 'allow' end))).*
       from policies p, generate_series(1, 499) n where p.tenant_id = '${owner.tenantId}' returning 1)
       update row_counts set rows = 500 where relation = 'policies' and tenant_id = '${owner.tenantId}'`,
    )
    const many = await requests()
    const ids = /[\da-f-]{36}/
    const shapes = ({ list, editor }: typeof one) =>
      [...list, '', ...editor].map((path) => path.replace(ids, 'id'))
    t.strictSame(shapes(many), shapes(one))
    t.ok(many.list.length + many.editor.length < 12, shapes(many).join(', '))

    await follow(page, '/policies')
    await page.getByText('500 in all').waitFor()
    t.equal(await page.getByRole('row').count(), 26)
    await page.setViewportSize({ width: 1000, height: 800 })
    await assertSound(t, page, 'a page of many policies', { look: true })
    await page.setViewportSize({ width: 1280, height: 800 })
    taken()
    await page.getByRole('button', { name: 'Next' }).click()
    await page.waitForURL(/cursor=/)
    await page.getByRole('button', { name: 'Previous', disabled: false }).waitFor()
    t.strictSame(taken(), ['GET /policies/'])
    await page.getByLabel('Name begins with').fill('No invitations at night 49')
    await page.getByText('11 in all').waitFor()
    await page.getByLabel('Any effect').selectOption('allow')
    await page.getByText('6 in all').waitFor()
    t.strictSame(taken(), ['GET /policies/', 'GET /policies/'])
    t.strictSame(faults.splice(0), [])
  })

  await t.test(
    'a form says what is wrong with no field of it, and nothing about a person who gives up',
    async (t) => {
      await follow(page, '/departments')
      const ofName = { field: 'name', detail: 'The name is taken.' }
      const ofTenant = { field: 'tenant', detail: 'There are too many.' }
      let errors = [ofTenant]
      await page.route('**/console/api/tenants/*/departments/', (route) =>
        route.fulfill({
          status: 409,
          body: JSON.stringify({ detail: errors.map(({ detail }) => detail).join(' '), errors }),
        }),
      )
      await page.getByRole('button', { name: 'New department' }).first().click()
      await dialog.getByLabel('Name').fill('Sales')
      await dialog.getByRole('button', { name: 'Create' }).click()
      await dialog.getByRole('alert').getByText('There are too many.').waitFor()
      errors = [ofName, ofTenant]
      await dialog.getByRole('button', { name: 'Create' }).click()
      await dialog.locator('.field-fault').getByText('The name is taken.').waitFor()
      t.equal(await dialog.getByRole('alert').getByText('There are too many.').count(), 1)
      errors = [ofName]
      await dialog.getByRole('button', { name: 'Create' }).click()
      await dialog.getByRole('alert').waitFor({ state: 'detached' })
      t.equal(await dialog.locator('.field-fault').count(), 1)
      await page.unroute('**/console/api/tenants/*/departments/')
      await page.keyboard.press('Escape')

      service.advance(11 * 60_000)
      await follow(page, '/account/keys')
      await page.getByRole('button', { name: 'New key' }).click()
      await dialog.getByLabel('Name').fill('Script')
      await dialog.getByRole('button', { name: 'Make the key' }).click()
      const asking = page.getByRole('dialog', { name: 'Confirm that it is you' })
      await asking.getByRole('button', { name: 'Cancel' }).click()
      await page.locator('.button[aria-disabled]').waitFor({ state: 'detached' })
      t.equal(await dialog.getByRole('alert').count(), 0)
      t.equal(await dialog.getByLabel('Name').inputValue(), 'Script')
      t.strictSame(
        faults.filter((text) => !/40[139]/.test(text)),
        [],
      )
    },
  )
})
