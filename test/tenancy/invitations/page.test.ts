import vm from 'node:vm'
import t from 'tap'
import { tokenIn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { codeAt, enrol, otherThan } from '../../identity/otp/authenticator.ts'
import { expect, foundFirm } from '../staff.ts'

const service = await sharedService(t)

/** The form for people with an account, as the script of the page uses it; `press` presses its button. */
async function accountForm(token: string) {
  const page = await (await fetch(`${service.url}/accept-invitation?token=${token}`)).text()
  const [, post, done] = /<form data-log-in data-post="([^"]+)" data-done="([^"]+)">/.exec(page) ?? []
  const [, source] = /<script src="([^"]+)"/.exec(page) ?? []
  const script = await (await fetch(new URL(source!, service.url))).text()
  const parts = {
    button: { disabled: true },
    '[role=status]': { dataset: {} as { outcome?: string }, textContent: '' },
    '[data-second-factor]': { hidden: true },
  }
  let submit: (event: object) => Promise<void> = async () => undefined
  const form = {
    dataset: { logIn: '', post, done },
    querySelector: (selector: keyof typeof parts) => parts[selector],
    addEventListener: (_name: string, listener: typeof submit) => {
      submit = listener
    },
  }
  let fields: object = {}
  vm.runInNewContext(script, {
    URLSearchParams,
    FormData: function FormData() {
      return Object.entries(fields)
    },
    fetch: (path: string, init: object) => fetch(new URL(path, service.url), init),
    window: { location: { search: `?token=${token}`, pathname: '/' }, history: { replaceState() {} } },
    document: { querySelectorAll: () => [form] },
  })
  return async function press(filled: object) {
    fields = filled
    await submit({ preventDefault() {} })
    const { dataset, textContent } = parts['[role=status]']
    return { outcome: dataset.outcome, said: textContent, codeShown: !parts['[data-second-factor]'].hidden }
  }
}

t.test('a person with an account logs in on the invitation page and joins', async (t) => {
  const { owner, path } = await foundFirm(service)
  const guest = await service.signUp()
  const { secret } = await enrol(service, guest)
  const right = codeAt(secret, service.now())
  await expect(201, owner.post(`${path}/invitations/`, { email: guest.email }))
  const press = await accountForm(tokenIn(await service.mailTo(guest.email, 'invited')))
  const { email, password } = guest
  t.match(await press({ email, password: 'not this one', code: '' }), { outcome: 'refused' })
  t.match(await press({ email, password, code: '' }), {
    outcome: 'pending',
    said: /second factor/,
    codeShown: true,
  })
  t.match(await press({ email, password, code: otherThan(right) }), { outcome: 'refused' })
  t.match(await press({ email, password, code: right }), { outcome: 'done', said: /You have joined/ })
  const { results } = await expect(200, owner.get(`${path}/members/?user_id=${guest.id}`))
  t.match(results, [{ email }])
})
