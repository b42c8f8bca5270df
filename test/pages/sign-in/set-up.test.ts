import t from 'tap'
import { assertNarrow, assertSound, heading, openChromium, signIn } from '../../console/real-browser.ts'
import { addAuthenticator, noChromium } from '../../helpers/chromium.ts'
import { startService } from '../../helpers/service.ts'
import { codeAt, requireMfa } from '../../identity/otp/authenticator.ts'
import { originOf, softwareAuthenticator } from '../../identity/passkeys/software-passkey.ts'
import { openPages, type SeenPage } from './page-client.ts'

// A tenant requires a second factor, and the person has none: mailed codes are off.

const service = await startService(t, { env: { OTP_EMAIL_ENABLED: 'false' } })
const { openPage } = await openChromium(t, service)

async function personWithoutFactor() {
  const person = await service.signUp()
  await requireMfa(service, person.tenantId)
  return person
}

/** Where the person is after address and password: at the set-up, or at the factor that they have. */
async function atSetUp(person: { email: string; password: string }, query = '') {
  const pages = openPages(service)
  await pages.visit(`/sign-in/${query}`)
  await pages.send({ email: person.email })
  await pages.send({ password: person.password })
  return pages
}

const keepsCodes = { status: 200, title: 'Keep your recovery codes' }
const secretIn = ({ text }: SeenPage) => /<code>([A-Z2-7 ]+)<\/code>/.exec(text)![1]!.replaceAll(' ', '')
const nextOf = (pages: ReturnType<typeof openPages>) =>
  /class="button" href="([^"]*)"/.exec(pages.seen().text)![1]!

t.test('an app is set up in the middle of a sign-in, which then goes on', async (t) => {
  const person = await personWithoutFactor()
  const pages = await atSetUp(person, '?return_to=/docs')
  t.match(pages.seen(), { status: 200, title: 'Set up a second factor' })
  t.match(await pages.visit('/sign-in/?return_to=/docs'), { title: 'Set up a second factor' }, 'it waits')
  const seen = await pages.send({}, 'set-up')
  t.match(seen.text, /<img class="code" src="data:image\/svg\+xml;base64,/)
  t.match(seen.text, /href="otpauth:\/\/totp\//)
  const secret = secretIn(seen)
  const refused = { status: 400, alert: 'This code is not right, or too old. Use the newest one.' }
  t.match(await pages.send({ code: '000000' }), refused)
  t.match(await pages.send({ code: codeAt(secret, service.now()) }), keepsCodes)
  t.match(await pages.visit(nextOf(pages)), { refresh: '/docs' })
  t.match((await pages.visit('/sign-in/')).text, person.email)
})

t.test('recovery codes are shown once, and each signs in once', async (t) => {
  const person = await personWithoutFactor()
  const pages = await atSetUp(person)
  const secret = secretIn(await pages.send({}, 'set-up'))
  const { text } = await pages.send({ code: codeAt(secret, service.now()) })
  const codes = [...text.matchAll(/<li><code>([^<]*)/g)].map(([, code = '']) => code)
  t.equal(codes.length, 10)
  t.ok(text.includes(encodeURIComponent(codes.join('\n'))), 'as a file')
  t.match(await pages.visit(nextOf(pages)), { title: 'You are signed in' })
  const later = await atSetUp(person)
  t.match(await later.send({ code: codes[0]! }), { title: 'You are signed in' })
  const again = await atSetUp(person)
  t.match(await again.send({ code: codes[0]! }), { status: 400, title: 'Confirm that it is you' })
})

t.test('a passkey is set up instead, and shown before the sign-in goes on', async (t) => {
  const person = await personWithoutFactor()
  const pages = await atSetUp(person)
  t.match(pages.seen().text, /<form [^>]*data-passkey="\/sign-in\/set-up\/passkey\/options\/" data-new/)
  const authenticator = softwareAuthenticator(originOf(service))
  t.match(await pages.usePasskey('set-up/passkey', () => 'none'), {
    status: 400,
    title: 'Set up a second factor',
  })
  t.match(await pages.usePasskey('set-up/passkey', authenticator.create), {
    status: 200,
    title: 'Your passkey is ready',
  })
  t.match(await pages.visit('/sign-in/'), { title: 'Confirm that it is you' }, 'it waits for the passkey')
  await pages.visit('/sign-in/set-up/passkey/use/')
  t.match(await pages.usePasskey('set-up/passkey/use', authenticator.get), keepsCodes)
  t.match(await pages.visit(nextOf(pages)), { title: 'You are signed in' })
})

t.test('the page is for a sign-in that waits', async (t) => {
  const pages = openPages(service)
  t.match(await pages.visit('/sign-in/set-up/'), { title: 'Sign in' })
  t.match(await pages.visit('/sign-in/set-up/confirm/'), { title: 'Sign in' })
})

t.test('Chromium shows the code to scan, and the recovery codes', { skip: noChromium }, async (t) => {
  const person = await personWithoutFactor()
  const { page, faults } = await openPage(t, { width: 320 })
  await page.goto(`${service.url}/sign-in/`)
  await signIn(page, person)
  await assertSound(t, page, 'the choice of a factor, at 320 px', { always: true })
  await page.getByRole('button', { name: 'Set up an app' }).click()
  await page.getByAltText('QR code for your authenticator app').waitFor()
  await page.waitForFunction("document.querySelector('img.code').naturalWidth > 0")
  await assertSound(t, page, 'the code to scan, at 320 px', { always: true })
  const secret = (await page.locator('code').textContent())!.replaceAll(' ', '')
  await page.getByLabel('Code that the app shows').fill(codeAt(secret, service.now()))
  await page.getByRole('button', { name: 'Continue' }).click()
  await heading(page, 'Keep your recovery codes').waitFor()
  await assertSound(t, page, 'recovery codes, at 320 px', { always: true })
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByText('Download them').click()])
  t.equal(file.suggestedFilename(), 'recovery-codes.txt')
  await page.getByRole('link', { name: 'I have kept them' }).click()
  await heading(page, 'You are signed in').waitFor()
  t.strictSame(faults, [])
})

t.test('Chromium sets up a passkey, and shows it', { skip: noChromium }, async (t) => {
  const person = await personWithoutFactor()
  const { page, faults } = await openPage(t, { width: 320 })
  await page.goto(`${originOf(service)}/sign-in/`)
  await addAuthenticator(page)
  await signIn(page, person)
  await page.getByRole('button', { name: 'Set up a passkey instead' }).click()
  await heading(page, 'Your passkey is ready').waitFor()
  await assertSound(t, page, 'a new passkey, at 320 px', { always: true })
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await heading(page, 'Keep your recovery codes').waitFor()
  t.strictSame(faults, [])
})

t.test(
  'in the console, a session makes a passkey when its tenant begins to demand a factor',
  { skip: noChromium },
  async (t) => {
    const person = await service.signUp()
    const { page, faults } = await openPage(t)
    await addAuthenticator(page)
    await page.goto(`${originOf(service)}/console/account`)
    await signIn(page, person)
    await heading(page, 'Profile').waitFor()
    await requireMfa(service, person.tenantId)
    service.advance(16 * 60_000)
    await page.reload()
    const make = page.getByRole('button', { name: 'Make a passkey instead' })
    await make.waitFor()
    await assertSound(t, page, 'the first factor of a session')
    await assertNarrow(t, page, 'the first factor of a session', { look: true })
    await make.click()
    await page.getByText('Use a passkey of this device').waitFor()
    await page.reload()
    await page.getByText('Use a passkey of this device').waitFor()
    await page.getByRole('button', { name: 'Continue' }).click()
    await heading(page, 'Profile').waitFor()
    t.strictSame(faults, [])
  },
)
