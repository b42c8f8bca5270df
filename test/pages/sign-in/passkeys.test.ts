import t from 'tap'
import { assertSound, openChromium, signIn } from '../../console/real-browser.ts'
import { addAuthenticator, noChromium } from '../../helpers/chromium.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { codeIn, requireMfa } from '../../identity/otp/authenticator.ts'
import { originOf, registerPasskey, softwareAuthenticator } from '../../identity/passkeys/software-passkey.ts'
import { confirmAddress } from '../../tenancy/staff.ts'
import { openPages } from './page-client.ts'

// People sign in with passkeys on the pages. `usePasskey` plays the script of the pages.

const service = await sharedService(t)
const { openPage } = await openChromium(t, service)

t.test('a passkey signs a person in, without address and password', async (t) => {
  const person = await service.signUp()
  const { authenticator } = await registerPasskey(service, person)
  const pages = openPages(service)
  await pages.visit('/sign-in/?return_to=/docs')
  t.match(pages.seen().text, /<form [^>]*data-passkey="\/sign-in\/passkey\/options\/"/)
  t.match(await pages.usePasskey('passkey', authenticator.get), { status: 200, title: 'You are signed in' })
  t.match((await pages.visit('/sign-in/')).text, person.email)
})

t.test('a passkey is shown as the second factor', async (t) => {
  const person = await service.signUp()
  const { authenticator } = await registerPasskey(service, person)
  const pages = openPages(service)
  await pages.visit('/sign-in/')
  await pages.send({ email: person.email })
  t.match(await pages.send({ password: person.password }), { title: 'Confirm that it is you' })
  t.match(await pages.usePasskey('code/passkey', authenticator.get), { title: 'You are signed in' })
})

t.test('a passkey that is not known is refused on the page, in the language of the reader', async (t) => {
  const stranger = await service.signUp()
  const authenticator = softwareAuthenticator(originOf(service))
  authenticator.create((await stranger.post('/api/v1/auth/passkeys/registration/', {})).body)
  const pages = openPages(service, { headers: { 'Accept-Language': 'de' } })
  await pages.visit('/sign-in/')
  const refused = { status: 400, title: 'Anmelden', alert: /^Dieser Passkey wurde nicht angenommen/ }
  t.match(await pages.usePasskey('passkey', authenticator.get), refused)
  t.match(await pages.send({ credential: 'no JSON' }, 'passkey'), refused)
  const foreign = { form_token: 'x' }
  t.equal((await pages.post('/sign-in/passkey/options/', foreign)).status, 403, 'options for other pages')
})

t.test(
  'Chromium signs in with a passkey, and shows it after the password',
  { skip: noChromium },
  async (t) => {
    const person = await service.signUp()
    const { body: options } = await person.post('/api/v1/auth/passkeys/registration/', {})
    const { page, faults } = await openPage(t)
    const origin = originOf(service)
    await page.goto(`${origin}/sign-in/signed-out/`)
    await addAuthenticator(page)
    const credential = await page.evaluate(`navigator.credentials
    .create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(${JSON.stringify(options)}) })
    .then((made) => made.toJSON())`)
    await person.post('/api/v1/auth/passkeys/', { name: 'Chromium', credential })
    const signedIn = page.getByRole('heading', { name: 'You are signed in' })

    const signOut = async () => {
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
    }

    await page.goto(`${origin}/sign-in/`) // this authenticator takes the offer among the suggestions at once
    await signedIn.waitFor()
    await signOut()

    await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = undefined')
    await page.goto(`${origin}/sign-in/`)
    await assertSound(t, page, 'the address')
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await signedIn.waitFor()
    await signOut()

    await page.goto(`${origin}/sign-in/`)
    await page.getByLabel('E-mail address').fill(person.email)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('Password').fill(person.password)
    await assertSound(t, page, 'the password')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor()
    await assertSound(t, page, 'a second factor')
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await signedIn.waitFor()

    await confirmAddress(service, person)
    const again = page.getByRole('heading', { name: 'Confirm again that it is you' })
    const stepUp = async () => {
      await page.goto(`${origin}/sign-in/step-up/?return_to=/sign-in/`)
      await again.waitFor()
      await assertSound(t, page, 'step-up')
    }
    await stepUp()
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await signedIn.waitFor()
    await stepUp()
    t.equal(await page.getByLabel('Code').count(), 0, 'no code is asked for that was not mailed')
    await page.getByRole('button', { name: 'Mail me a code' }).click()
    await page.getByText('Enter the code that we mailed').waitFor()
    await page.getByLabel('Code').fill(codeIn(await service.mailTo(person.email, 'sign-in code')))
    await page.getByRole('button', { name: 'Continue' }).click()
    await signedIn.waitFor()
    t.strictSame(faults, [])
  },
)

for (const [what, width, scripts] of [
  ['without scripts', 1280, false],
  ['at 320 px, and axe finds nothing', 320, true],
] as const)
  t.test(`the other pages work in Chromium ${what}`, { skip: noChromium }, async (t) => {
    const { page, faults } = await openPage(t, { beside: true, width, scripts })
    const open = async (path: string, name: string) => {
      await page.goto(`${service.url}/sign-in/${path}`)
      await sound(name)
    }
    const sound = async (name: string) => {
      await page.getByRole('heading', { level: 1, name }).waitFor()
      if (!scripts) return // axe is one
      await assertSound(t, page, name, { always: true })
      await page.emulateMedia({ colorScheme: 'dark' })
      await assertSound(t, page, `${name}, dark`, { look: true, always: true })
      await page.emulateMedia({ colorScheme: 'light' })
    }
    const person = await service.signUp()
    await open('register/', 'Create an account')
    await page.getByLabel('E-mail address').fill(`someone.${width}.${service.now()}@example.com`)
    await page.getByLabel('Password').fill('a nanosecond of wire')
    await page.getByRole('button', { name: 'Create an account' }).click()
    await sound('Look into your mailbox')
    await open('forgot/', 'Reset your password')
    await page.getByLabel('E-mail address').fill(person.email)
    await page.getByRole('button', { name: 'Mail me a link' }).click()
    await sound('Look into your mailbox')

    await open('', 'Sign in')
    await page.getByLabel('E-mail address').fill(person.email)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('Password').fill(person.password)
    service.advance(901_000)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await sound('This did not work')
    await page.getByRole('link', { name: 'Begin again' }).click()
    await signIn(page, person)
    await sound('You are signed in')
    await open('organisation/', 'Choose an organisation')
    await open('step-up/', 'Confirm again that it is you')
    await page.getByLabel('Password').fill('wrong wrong wrong')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('alert').waitFor()
    await sound('Confirm again that it is you')
    await open('', 'You are signed in')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await sound('You are signed out')
    await requireMfa(service, person.tenantId)
    await open('', 'Sign in')
    await signIn(page, person)
    await sound('Confirm that it is you')
    t.match(await page.locator('main').innerText(), 'Enter the code that we mailed to')
    t.strictSame(
      faults.filter((text) => !/40[03]/.test(text)),
      [],
    )
  })
