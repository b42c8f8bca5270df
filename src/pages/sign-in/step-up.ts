import type { Deps } from '../../deps.ts'
import { channelsOn, type DeviceType } from '../../identity/otp/channels.ts'
import { type Html, html } from '../../text/html.ts'
import type { Calls, SignInAnswer } from './calls.ts'
import { factorFields, notYet } from './code.ts'
import { button, field, form, refusalOf } from './elements.ts'
import { credentialOf, optionsPage } from './passkey.ts'
import { type Profile, profileOf } from './profile.ts'
import { go, inNameOf, page, type Shown, type SignInPage, signedIn, type Visit } from './visit.ts'

interface Devices {
  results: { type: DeviceType; is_confirmed: boolean }[]
}

/**
 * Asks a browser that is signed in to show again who is there, and leads on: a second factor, or the password of a person
 * who has none.
 */
export const stepUpPages = (deps: Deps, calls: Calls): SignInPage[] => {
  async function show(visit: Visit): Promise<Shown> {
    const person = await profileOf(calls, visit)
    if (!person) return go('')
    inNameOf(visit, person.current_tenant.id)
    if (!person.mfa_enabled) return page(visit.texts.stepUp.title, passwordFields(visit, person))
    const { results } = (await calls.devices(visit.http)) as Devices
    const on = channelsOn(deps.config)
    const methods = results.filter((one) => one.is_confirmed && on.includes(one.type)).map(({ type }) => type)
    return page(visit.texts.stepUp.title, factorFields(deps, visit, methods, 'step-up'))
  }

  return [
    {
      path: 'step-up',
      show,
      async submit(visit) {
        const { code, password } = visit.form
        if (password !== undefined) {
          await calls.showOwnPassword(visit.http, { password })
          return signedIn(visit)
        }
        return shown(visit, (await calls.showOwnFactor(visit.http, { code })) as SignInAnswer)
      },
    },
    {
      path: 'step-up/mail',
      show,
      async submit(visit) {
        await calls.mailOwnCode(visit.http)
        visit.keep({ isCodeMailed: true })
        return go('step-up')
      },
    },
    {
      path: 'step-up/passkey',
      show,
      async submit(visit) {
        const answer = await calls.showOwnPasskey(visit.http, { credential: credentialOf(visit) })
        return shown(visit, answer as SignInAnswer)
      },
    },
    optionsPage('step-up/passkey', (visit) => calls.stepUpOptions(visit.http)),
  ]
}

const shown = (visit: Visit, { counts_from: from }: SignInAnswer): Shown =>
  from ? page(visit.texts.stepUp.title, notYet(visit, 'step-up')) : signedIn(visit)

const passwordFields = (
  visit: Visit,
  { email }: Profile,
): Html => html`<p class="who"><span>${email}</span></p>
${refusalOf(visit, 'password')}${form(
  visit,
  'step-up',
  html`<input type="hidden" name="email" value="${email}" autocomplete="username">
${field(visit, {
  name: 'password',
  label: visit.texts.password.label,
  type: 'password',
  autocomplete: 'current-password',
  more: html`maxlength="1024" autofocus`,
})}${button(visit.texts.continue)}`,
)}`
