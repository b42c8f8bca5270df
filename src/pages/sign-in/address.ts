import type { Deps } from '../../deps.ts'
import { html } from '../../text/html.ts'
import { button, field, form, link, providerButtons, refusalOf } from './elements.ts'
import { passkeyForm } from './passkey-button.ts'
import { go, page, type SignInPage, type Visit } from './visit.ts'

/**
 * The first page asks for the address alone, whatever its account has: the next page is the same for every address.
 * `login_hint` fills it in (OpenID Connect Core §3.1.2.1).
 */
export function addressForm(deps: Deps, visit: Visit) {
  const { texts, http, flow } = visit
  const hint = typeof http.query.login_hint === 'string' ? http.query.login_hint : undefined
  const value = visit.form.email ?? hint ?? flow.email ?? ''
  return page(
    texts.address.title,
    html`<p>${texts.address.lead}</p>
${refusalOf(visit, 'email')}${form(
  visit,
  'address',
  html`${field(visit, {
    name: 'email',
    label: texts.email,
    type: 'email',
    autocomplete: 'username webauthn',
    value,
    more: html`maxlength="254" autofocus spellcheck="false"`,
  })}${button(texts.continue)}`,
)}
${passkeyForm(deps, visit, { path: 'passkey', words: texts.passkey.signIn })}
${providerButtons(deps, visit)}
<p class="aside">${texts.address.isNew} ${link(visit, 'register', texts.address.register)}</p>`,
  )
}

export const addressPage = (deps: Deps): SignInPage => ({
  path: 'address',
  show: (visit) => addressForm(deps, visit),
  async submit(visit) {
    visit.keep({ email: visit.form.email?.trim().slice(0, 254) ?? '' })
    return go('password')
  },
})
