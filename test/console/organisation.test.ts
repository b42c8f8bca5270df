import t from 'tap'
import { noChromium } from '../helpers/chromium.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { changeRows } from '../identity/otp/authenticator.ts'
import { pngOf } from '../tenancy/tenants/sample-images.ts'
import { assertNarrow, assertSound, follow, heading, openChromium, signIn } from './real-browser.ts'

// Events, webhooks and the organisation in a real browser.

const skip = noChromium
const service = await sharedService(t)
const { openPage, go } = await openChromium(t, service)

t.test(
  'an administrator follows events as they happen, makes a webhook, and closes the organisation',
  { skip },
  async (t) => {
    const owner = await service.signUp()
    const { page, faults } = await openPage(t)
    const dialog = page.locator('.dialog')
    await go(page, '/events')
    await signIn(page, owner)
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
    const branding = page.locator('form').filter({ hasText: 'Sign-in pages and mails' })
    const accent = branding.getByLabel('Colour of buttons and links')
    const save = branding.getByRole('button', { name: 'Save' })
    await accent.fill('#ffd400')
    await save.click()
    await branding.getByText('Choose a darker one').waitFor()
    await accent.fill('#7a1f5c')
    const image = { name: 'logo.png', mimeType: 'image/png', buffer: pngOf(200, 50) }
    await branding.locator('input[type=file]').setInputFiles(image)
    await branding.getByRole('img', { name: 'Logo' }).waitFor()
    t.equal(await accent.inputValue(), '#7a1f5c', 'what was typed stays')
    await save.click()
    await page.getByText('Pages and mails are changed').first().waitFor()
    await assertSound(t, page, 'branding')
    await branding.getByRole('button', { name: 'Dark' }).click()
    await assertNarrow(t, page, 'branding', { look: true })
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
    await heading(page, 'You are signed out').waitFor()
    t.strictSame(
      faults.splice(0).filter((text) => !/40[0134]/.test(text)),
      [],
    )
  },
)
