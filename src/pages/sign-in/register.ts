import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { NewPerson } from '../../identity/auth/register.ts'
import { digestOf } from '../../identity/sign-in/sign-in-registered.ts'
import { type Html, html } from '../../text/html.ts'
import type { Calls, SignInAnswer } from './calls.ts'
import { button, field, form, link, providerButtons, refusalOf } from './elements.ts'
import { afterFactor } from './password.ts'
import { go, page, type Shown, type SignInPage, type Visit } from './visit.ts'

/** Asks for an account. Text and time are the same for a free address and for one that has an account. */
export const registerPages = (deps: Deps, calls: Calls): SignInPage[] => [
  {
    path: 'register',
    show: (visit) => registerForm(deps, visit),
    async submit(visit) {
      const { email = '', password = '', first_name = '', last_name = '' } = visit.form
      const body = { email, password, first_name, last_name }
      const made = (await calls.register(visit.http, body)) as NewPerson
      const { id: userId, passwordHash } = made
      visit.keep({
        email: made.email,
        returnTo: visit.returnTo,
        registered: { userId, email: made.email, passwordDigest: digestOf(passwordHash), at: deps.clock() },
      })
      return go('register/sent')
    },
  },
  {
    path: 'register/sent',
    show(visit) {
      const { texts, flow } = visit
      if (!flow.registered) return go('register')
      return page(
        texts.sent.title,
        html`<p>${texts.register.sent(flow.registered.email)}</p>
<p>${texts.sent.notThere}</p>
<p class="aside">${link(visit, 'register', texts.sent.otherAddress)}</p>`,
      )
    },
  },
]

function registerForm(deps: Deps, visit: Visit): Shown {
  const { texts, flow } = visit
  return page(
    texts.register.title,
    html`${refusalOf(visit, 'email', 'first_name', 'last_name', 'password')}${form(
      visit,
      'register',
      html`${nameFields(visit)}
${field(visit, {
  name: 'email',
  label: texts.email,
  type: 'email',
  autocomplete: 'username',
  value: visit.form.email ?? flow.email ?? '',
  more: html`maxlength="254" spellcheck="false"`,
})}${newPassword(visit)}${button(texts.register.title)}`,
    )}
${providerButtons(deps, visit)}
<p class="aside">${texts.register.isKnown} ${link(visit, 'address', texts.address.title)}</p>`,
  )
}

const names = [
  ['first_name', 'given-name'],
  ['last_name', 'family-name'],
] as const

export const nameFields = (visit: Visit): Html =>
  html`<div class="pair">${names.map(
    ([name, autocomplete]) =>
      html`<div>${field(visit, {
        name,
        label: visit.texts[name],
        autocomplete,
        isOptional: true,
        more: html`maxlength="150"`,
      })}</div>\n`,
  )}</div>`

/** A password that the person chooses. */
export const newPassword = (visit: Visit, label = visit.texts.password.label): Html =>
  field(visit, {
    name: 'password',
    label,
    type: 'password',
    autocomplete: 'new-password',
    hint: visit.texts.newPasswordHint,
    more: html`minlength="8" maxlength="128"`,
  })

const registeredMs = 3_600_000

/**
 * Where a browser goes on after a mailed link has proven a person's address: if it registered them within the last hour, to
 * the sign-in, as after the password that was chosen. Null: elsewhere, and where the sign-in is refused.
 */
export async function continueAfterProof(
  { clock }: Pick<Deps, 'clock'>,
  calls: Calls,
  visit: Visit,
  { userId }: { userId: string },
): Promise<Shown | null> {
  const { registered, returnTo = null } = visit.flow
  if (registered?.userId !== userId || clock() - registered.at > registeredMs) return null
  visit.keep({ registered: undefined })
  visit.returnTo ??= returnTo
  try {
    const answer = (await calls.signInRegistered(visit.http, registered)) as SignInAnswer | null
    return answer && (await afterFactor(visit, calls, answer))
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return null
    throw error
  }
}
