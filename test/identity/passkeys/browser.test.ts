import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { addAuthenticator, noChromium, openTab } from '../../helpers/chromium.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { attemptLogin } from '../otp/authenticator.ts'
import { originOf, strengthOf } from './software-passkey.ts'

const folder = join(import.meta.dirname, '..', '..', '..', 'docs', 'how-to')
const page = readFileSync(join(folder, 'use-passkeys.md'), 'utf8')
const example = readFileSync(join(folder, 'examples', 'passkeys.js'), 'utf8')

t.test('the page shows the code that runs in the browser here', async (t) => {
  const regions = [...example.matchAll(/^\/\/ #region \w+\n(.*?)\n\/\/ #endregion$/gms)]
  t.equal(regions.length, 4)
  for (const [, code] of regions) t.ok(page.includes(`\`\`\`js\n${code}\n\`\`\``))
})

t.test(
  'Chromium registers a passkey, logs in with it and shows it after the password',
  { skip: noChromium },
  async (t) => {
    const service = await sharedService(t)
    const person = await service.signUp()
    const tab = await openTab(t, `${originOf(service)}/verify-email`)
    const authenticator = await addAuthenticator(tab.page)
    await tab.evaluate(example.replaceAll(/^export /gm, ''))
    const passkey = await tab.evaluate(`registerPasskey('${person.access}', 'Chromium')`)
    t.match(passkey, { id: String, name: 'Chromium', transports: ['internal'] })

    const pair = await tab.evaluate('logInWithPasskey()')
    t.same(strengthOf({ body: pair } as never), { acr: 'aal2', amr: ['pop', 'user', 'mfa'] })

    const { temporary_token: token } = (await attemptLogin(service, person)).body
    const shown = await tab.evaluate(`showPasskey('${token}')`)
    t.match(shown, { verified: true, device_id: passkey.id, access: String })

    const again = tab.evaluate(`registerPasskey('${shown.access}', 'Again')`)
    await t.rejects(again, { message: /InvalidStateError/ }, 'the same authenticator is not registered twice')

    await authenticator.setVerified(false)
    await t.rejects(
      tab.evaluate('logInWithPasskey()'),
      { message: /NotAllowedError/ },
      'a person has to be verified',
    )
  },
)
