import { html } from '../../text/html.ts'
import type { PageDeps } from './calls.ts'
import { button, field, form, link, providerButtons, refusalOf } from './elements.ts'
import { connectionButtons, leadToRealm, offeredBy } from './home-realm.ts'
import { passkeyForm } from './passkey-button.ts'
import { go, page, type Shown, type SignInPage, type Visit } from './visit.ts'

/**
 * The first page asks for the address alone, whatever its account has: the next page is the same for every address.
 * `login_hint` fills it in (OpenID Connect Core §3.1.2.1).
 */
export async function addressForm(deps: PageDeps, visit: Visit): Promise<Shown> {
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
${connectionButtons(visit, await offeredBy(deps, visit))}
${providerButtons(deps, visit)}
<p class="aside">${texts.address.isNew} ${link(visit, 'register', texts.address.register)}</p>`,
  )
}

/** Where a sign-in begins: at the connection of an organisation, or with the address. */
export const beginning = async (deps: PageDeps, visit: Visit): Promise<Shown> =>
  (visit.refusal ? null : await leadToRealm(deps, visit, null)) ?? addressForm(deps, visit)

export const addressPage = (deps: PageDeps): SignInPage => ({
  path: 'address',
  show: (visit) => beginning(deps, visit),
  async submit(visit) {
    const email = visit.form.email?.trim().slice(0, 254) ?? ''
    visit.keep({ email })
    return (await leadToRealm(deps, visit, email)) ?? go('password')
  },
})
