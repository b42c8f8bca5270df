import type { Deps } from '../../deps.ts'
import { type Html, html } from '../../text/html.ts'
import { loginCookie } from '../browser-session/cookie.ts'
import { cookieOf } from '../browser-session/credentials.ts'
import type { Calls, SignInAnswer } from './calls.ts'
import { button, field, form, link, refusalOf } from './elements.ts'
import { needsScript, passkeyForm } from './passkey-button.ts'
import { go, inNameOf, page, type Shown, type SignInPage, signedIn, type Visit } from './visit.ts'

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
      visit.keep({ isCodeMailed: true })
      return go('code')
    },
  },
]

export async function codeForm(deps: Deps, visit: Visit): Promise<Shown> {
  const row = await cookieOf(deps, visit.http, loginCookie)
  if (!row?.pending_id) return go('')
  if (row.methods.length === 0) return go('set-up')
  if (row.pending_tenant_id && !visit.flow.tenantId) inNameOf(visit, row.pending_tenant_id)
  const { texts } = visit
  return page(
    texts.code.title,
    html`${factorFields(deps, visit, row.methods, 'code')}
<p class="aside">${link(visit, 'address', texts.code.other)}</p>`,
  )
}

type FactorPath = 'code' | 'step-up'

/** Asks for a factor of one of these methods. `path`: of the page that takes it. */
export function factorFields(deps: Deps, visit: Visit, methods: readonly string[], path: FactorPath): Html {
  const byCode = methods.some((method) => method !== 'passkey')
  const ceremony = { path: `${path}/passkey`, words: visit.texts.passkey.show, isOnly: !byCode }
  const byPasskey = methods.includes('passkey') ? passkeyForm(deps, visit, ceremony) : null
  return html`${byCode ? codeFields(visit, methods, path) : passkeyOnly(visit)}
${byPasskey}`
}

/** The answer to a factor that was accepted. */
export const codeShown = (visit: Visit, { authenticated }: SignInAnswer): Shown =>
  authenticated ? signedIn(visit) : page(visit.texts.code.title, notYet(visit, 'code'))

const passkeyOnly = (visit: Visit): Html => html`<p>${visit.texts.passkey.lead}</p>
${refusalOf(visit)}${needsScript(visit)}`

/** The field for a code, and a button to mail one. */
function codeFields(visit: Visit, methods: readonly string[], path: FactorPath): Html {
  const { texts, flow } = visit
  const byApp = methods.includes('totp')
  const byList = methods.includes('static')
  const isMailed = methods.includes('email') && flow.isCodeMailed === true
  const mail = isMailed ? texts.code.again : byApp || byList ? texts.code.mail : texts.code.send
  const mailForm = methods.includes('email')
    ? form(visit, `${path}/mail`, button(mail, { quiet: true }))
    : null
  if (!isMailed && !byApp && !byList) return html`<p>${texts.code.byMail}</p>\n${refusalOf(visit)}${mailForm}`
  const lead = isMailed ? texts.code.ofMail(flow.email ?? '') : byApp ? texts.code.ofApp : texts.code.ofList
  return html`<p>${lead}</p>
${refusalOf(visit, 'code')}${form(
  visit,
  path,
  html`${field(visit, {
    name: 'code',
    label: texts.code.label,
    autocomplete: 'one-time-code',
    ...(byApp && byList ? { hint: texts.code.orRecovery } : {}),
    more: html`maxlength="64" autofocus spellcheck="false" autocapitalize="off"`,
  })}${button(texts.continue)}`,
)}
${mailForm}`
}

/** A right code of a factor that does not count yet, where one that counts is demanded. */
export const notYet = (visit: Visit, path: FactorPath): Html => html`<p>${visit.texts.code.notYet}</p>
<p class="aside">${link(visit, path, visit.texts.code.another)}</p>`
