import type { Deps } from '../../deps.ts'
import { type Html, html } from '../../text/html.ts'
import { loginCookie } from '../browser-session/cookie.ts'
import { cookieOf } from '../browser-session/credentials.ts'
import type { Calls, SignInAnswer } from './calls.ts'
import { button, field, form, link, refusalOf } from './elements.ts'
import { passkeyForm } from './passkey-button.ts'
import { go, page, type Shown, type SignInPage, signedIn, type Visit } from './visit.ts'

/** Asks for a second factor: a code of an app, a recovery code, one that is mailed, or a passkey. */
export const codePages = (deps: Deps, calls: Calls): SignInPage[] => [
  {
    path: 'code',
    show: (visit) => codeForm(deps, visit),
    async submit(visit) {
      const { code = '' } = visit.form
      return codeShown(visit, (await calls.showFactor(visit.http, { code })) as SignInAnswer)
    },
  },
  {
    path: 'code/mail',
    show: (visit) => codeForm(deps, visit),
    async submit(visit) {
      await calls.mailCode(visit.http)
      return go('code')
    },
  },
]

export async function codeForm(deps: Deps, visit: Visit): Promise<Shown> {
  const row = await cookieOf(deps, visit.http, loginCookie)
  if (!row?.pending_id) return go('')
  if (row.methods.length === 0) return go('set-up')
  const { texts } = visit
  const byPasskey = row.methods.includes('passkey') ? passkeyForm(deps, visit, 'code/passkey') : null
  const byCode = row.methods.some((method) => method !== 'passkey')
  return page(
    texts.code.title,
    html`${byCode ? fieldsOf(visit, row.methods) : passkeyOnly(visit)}
${byPasskey}
<p class="aside">${link(visit, 'address', texts.code.other)}</p>`,
  )
}

/** The answer to a factor that was accepted. */
export const codeShown = (visit: Visit, { authenticated }: SignInAnswer): Shown =>
  authenticated ? signedIn(visit) : page(visit.texts.code.title, notYet(visit))

const passkeyOnly = (visit: Visit): Html => html`<p>${visit.texts.passkey.lead}</p>
${refusalOf(visit)}<noscript><p class="alert">${visit.texts.passkey.noScript}</p></noscript>`

function fieldsOf(visit: Visit, methods: readonly string[]): Html {
  const { texts, flow } = visit
  const byApp = methods.includes('totp')
  const byMail = methods.includes('email')
  const lead = byApp ? texts.code.ofApp : byMail ? texts.code.ofMail(flow.email ?? '') : texts.code.ofList
  return html`<p>${lead}</p>
${refusalOf(visit, 'code')}${form(
  visit,
  'code',
  html`${field(visit, {
    name: 'code',
    label: texts.code.label,
    autocomplete: 'one-time-code',
    ...(byApp && methods.includes('static') ? { hint: texts.code.orRecovery } : {}),
    more: html`maxlength="64" autofocus spellcheck="false" autocapitalize="off"`,
  })}${button(texts.continue)}`,
)}
${byMail ? form(visit, 'code/mail', button(byApp ? texts.code.mail : texts.code.again, { quiet: true })) : null}`
}

/** A right code of a factor that does not count yet, where one that counts is demanded. */
const notYet = (visit: Visit): Html => html`<p>${visit.texts.code.notYet}</p>
<p class="aside">${link(visit, 'code', visit.texts.code.another)}</p>`
