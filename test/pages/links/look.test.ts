import t from 'tap'
import { assertSound, heading, openChromium } from '../../console/real-browser.ts'
import { addAuthenticator, noChromium } from '../../helpers/chromium.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { originOf } from '../../identity/passkeys/software-passkey.ts'
import { expect, foundFirm } from '../../tenancy/staff.ts'
import { linkIn } from '../sign-in/page-client.ts'

// The pages of mailed links in a browser: wide and narrow, light and dark.

const service = await sharedService(t)
const { openPage } = await openChromium(t, service)

for (const width of [1280, 320])
  t.test(`people join, and a link is dead, at ${width} px`, { skip: noChromium }, async (t) => {
    const { page, faults } = await openPage(t, { beside: true, width })
    const sound = async (name: string) => {
      await assertSound(t, page, name, { always: true })
      await page.emulateMedia({ colorScheme: 'dark' })
      await assertSound(t, page, `${name}, dark`, { look: true, always: true })
      await page.emulateMedia({ colorScheme: 'light' })
      if (process.env.SCREENSHOTS)
        await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name} ${width}.png`, fullPage: true })
    }
    const title = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
    const { owner, path } = await foundFirm(service)
    const branding = {
      name: 'A firm with a rather long name',
      accent: '#7a1f5c',
      terms_url: 'https://firm.example/',
    }
    await expect(200, owner.patch(`${path}/`, { settings: { branding } }))
    const email = `guest${width}.${service.now()}@a-rather-long-name-of-a-department.example.com`
    await expect(201, owner.post(`${path}/invitations/`, { email }))
    await page.goto(service.url + linkIn(await service.mailTo(email, 'invited'), '/accept-invitation'))
    await title('Join Firm')
    t.notMatch(page.url(), 'token')
    await sound('invitation')
    await page.getByLabel('Password', { exact: true }).fill('a quiet harbour')
    await page.getByRole('button', { name: 'Join Firm' }).click()
    await title('You have joined Firm')
    await sound('joined')

    const person = await service.register()
    const link = linkIn(await service.mailTo(person.email, 'Confirm'), '/verify-email')
    for (const outcome of ['Your address is confirmed', 'This link does not work any more']) {
      await page.goto(service.url + link)
      await title('Confirm your e-mail address')
      await sound('confirm')
      await page.getByRole('button', { name: 'Confirm address' }).click()
      await title(outcome)
      await sound(outcome)
    }
    t.strictSame(faults.length, 1, 'the refusal of the used link alone')
  })

t.test(
  'a new person joins with a passkey, under the name that they typed',
  { skip: noChromium },
  async (t) => {
    const { owner, path } = await foundFirm(service)
    const email = `passkey.${service.now()}@example.com`
    await expect(201, owner.post(`${path}/invitations/`, { email }))
    const { page, faults } = await openPage(t)
    const link = linkIn(await service.mailTo(email, 'invited'), '/accept-invitation')
    await page.goto(originOf(service) + link)
    await addAuthenticator(page)
    await page.getByLabel('First name').fill('Gus')
    await page.getByRole('button', { name: 'Join with a passkey instead' }).click()
    await heading(page, 'Confirm that it is you').waitFor()
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await heading(page, 'You are signed in').waitFor()
    await page.getByText('Gus').waitFor()
    t.strictSame(faults, [])
  },
)
