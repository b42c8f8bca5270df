import type { Deps } from '../../deps.ts'
import { type Html, html } from '../../text/html.ts'
import { loginCookie } from '../browser-session/cookie.ts'
import { cookieOf } from '../browser-session/credentials.ts'
import type { Calls, SignInAnswer } from './calls.ts'
import { button, field, form, link, refusalOf } from './elements.ts'
import { go, page, type SignInPage, signedIn, type Visit } from './visit.ts'

/** Asks for a second factor: a code of an app, a recovery code, or one that is mailed. */
export const codePages = (deps: Deps, calls: Calls): SignInPage[] => [
  {
    path: 'code',
    async show(visit) {
      const row = await cookieOf(deps, visit.http, loginCookie)
      if (!row?.pending_id) return go('')
      return page(visit.texts.code.title, codeForm(visit, row.methods))
    },
    async submit(visit) {
      const { code = '' } = visit.form
      const shown = (await calls.showFactor(visit.http, { code })) as SignInAnswer
      if (shown.authenticated) return signedIn(visit)
      return page(visit.texts.code.title, notYet(visit))
    },
  },
  {
    path: 'code/mail',
    show: () => go('code'),
    async submit(visit) {
      await calls.mailCode(visit.http)
      return go('code')
    },
  },
]

function codeForm(visit: Visit, methods: readonly string[]): Html {
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
${byMail ? form(visit, 'code/mail', button(byApp ? texts.code.mail : texts.code.again, { quiet: true })) : null}
<p class="aside">${link(visit, 'address', texts.code.other)}</p>`
}

/** A right code of a factor that does not count yet, where one that counts is demanded. */
const notYet = (visit: Visit): Html => html`<p>${visit.texts.code.notYet}</p>
<p class="aside">${link(visit, 'code', visit.texts.code.another)}</p>`
