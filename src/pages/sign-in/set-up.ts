import type { Deps } from '../../deps.ts'
import { type Html, html } from '../../text/html.ts'
import { loginCookie } from '../browser-session/cookie.ts'
import { cookieOf } from '../browser-session/credentials.ts'
import type { Calls, SignInAnswer } from './calls.ts'
import { codeShown } from './code.ts'
import { button, field, form, link, refusalOf } from './elements.ts'
import { go, page, type SignInPage, type Visit } from './visit.ts'

interface SetUp {
  secret: string
  provisioning_uri: string
  qr_svg: string
}

/** Sets up an authenticator app where a sign-in waits for a factor that the person does not have yet. */
export const setUpPages = (deps: Deps, calls: Calls): SignInPage[] => {
  const waits = async ({ http }: Visit) => (await cookieOf(deps, http, loginCookie))?.pending_id != null
  return [
    {
      path: 'set-up',
      async show(visit) {
        if (!(await waits(visit))) return go('')
        const { texts } = visit
        return page(
          texts.setUp.title,
          html`<p>${texts.setUp.why}</p>
<p>${texts.setUp.apps}</p>
${refusalOf(visit)}${form(visit, 'set-up', button(texts.setUp.begin))}
${asOther(visit)}`,
        )
      },
      async submit(visit) {
        const made = (await calls.setUpApp(visit.http)) as SetUp
        return page(
          visit.texts.setUp.title,
          html`${scanned(visit, made)}${codeField(visit)}${asOther(visit)}`,
        )
      },
    },
    {
      // The secret is shown once: who mistypes a code has it in their app by now, or begins anew.
      path: 'set-up/confirm',
      async show(visit) {
        if (!(await waits(visit)) || !visit.refusal) return go('set-up')
        const { texts } = visit
        return page(
          texts.setUp.title,
          html`<p>${texts.code.ofApp}</p>
${codeField(visit)}
${form(visit, 'set-up', button(texts.setUp.anew, { quiet: true }))}
${asOther(visit)}`,
        )
      },
      async submit(visit) {
        const { code = '' } = visit.form
        return codeShown(visit, (await calls.confirmApp(visit.http, { code })) as SignInAnswer)
      },
    },
  ]
}

function scanned({ texts }: Visit, { secret, provisioning_uri, qr_svg }: SetUp): Html {
  const source = `data:image/svg+xml;base64,${Buffer.from(qr_svg).toString('base64')}`
  return html`<p>${texts.setUp.scan}</p>
<p><img class="code" src="${source}" alt="${texts.setUp.qr}" width="196" height="196"></p>
<p>${texts.setUp.orType} <code>${secret.match(/.{1,4}/g)!.join(' ')}</code></p>
<p><a href="${provisioning_uri}">${texts.setUp.here}</a></p>
`
}

const codeField = (visit: Visit): Html => html`${refusalOf(visit, 'code')}${form(
  visit,
  'set-up/confirm',
  html`${field(visit, {
    name: 'code',
    label: visit.texts.setUp.code,
    autocomplete: 'one-time-code',
    more: html`maxlength="64" inputmode="numeric" spellcheck="false"`,
  })}${button(visit.texts.continue)}`,
)}
`

const asOther = (visit: Visit): Html =>
  html`<p class="aside">${link(visit, 'address', visit.texts.code.other)}</p>`
