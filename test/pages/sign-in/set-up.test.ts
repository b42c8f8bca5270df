import t from 'tap'
import { assertSound, openChromium } from '../../console/real-browser.ts'
import { noChromium } from '../../helpers/chromium.ts'
import { startService } from '../../helpers/service.ts'
import { codeAt, requireMfa } from '../../identity/otp/authenticator.ts'
import { openPages } from './page-client.ts'

// A tenant requires a second factor, and the person has none: mailed codes are off.

const service = await startService(t, { env: { OTP_EMAIL_ENABLED: 'false' } })

async function personWithoutFactor() {
  const person = await service.signUp()
  await requireMfa(service, person.tenantId)
  return person
}

t.test('an app is set up in the middle of a sign-in, which then goes on', async (t) => {
  const person = await personWithoutFactor()
  const pages = openPages(service)
  await pages.visit('/sign-in/?return_to=/docs')
  await pages.send({ email: person.email })
  t.match(await pages.send({ password: person.password }), { status: 200, title: 'Set up a second factor' })
  t.match(await pages.visit('/sign-in/?return_to=/docs'), { title: 'Set up a second factor' }, 'it waits')
  const seen = await pages.send({}, 'set-up')
  t.match(seen.text, /<img class="code" src="data:image\/svg\+xml;base64,/)
  t.match(seen.text, /href="otpauth:\/\/totp\//)
  const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(seen.text)![1]!.replaceAll(' ', '')
  const refused = { status: 400, alert: 'This code is not right, or too old. Use the newest one.' }
  t.match(await pages.send({ code: '000000' }), refused)
  t.match(await pages.send({ code: codeAt(secret, service.now()) }), { status: 200, refresh: '/docs' })
  t.match((await pages.visit('/sign-in/')).text, person.email)
})

t.test('the page is for a sign-in that waits', async (t) => {
  const pages = openPages(service)
  t.match(await pages.visit('/sign-in/set-up/'), { title: 'Sign in' })
  t.match(await pages.visit('/sign-in/set-up/confirm/'), { title: 'Sign in' })
})

t.test('Chromium shows the code to scan', { skip: noChromium }, async (t) => {
  const person = await personWithoutFactor()
  const { openPage } = await openChromium(t, service)
  const { page, faults } = await openPage(t, { width: 320 })
  await page.goto(`${service.url}/sign-in/`)
  await page.getByLabel('E-mail address').fill(person.email)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByLabel('Password').fill(person.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Set up an app' }).click()
  await page.getByAltText('QR code for your authenticator app').waitFor()
  await page.waitForFunction("document.querySelector('img.code').naturalWidth > 0")
  await assertSound(t, page, 'the code to scan, at 320 px')
  t.strictSame(faults, [])
})
