import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { channelsOn } from '../../identity/otp/channels.ts'
import { type Html, html } from '../../text/html.ts'
import { loginCookie } from '../browser-session/cookie.ts'
import { cookieOf } from '../browser-session/credentials.ts'
import { recordPending } from '../browser-session/store.ts'
import type { Calls, SignInAnswer } from './calls.ts'
import { codeShown } from './code.ts'
import { button, field, form, link, nextStep, refusalOf } from './elements.ts'
import { credentialOf, optionsPage } from './passkey.ts'
import { needsScript, passkeyForm } from './passkey-button.ts'
import { go, page, type Shown, type SignInPage, type Visit } from './visit.ts'

interface SetUp {
  secret: string
  provisioning_uri: string
  qr_svg: string
}

/** Sets up an app or a passkey where a sign-in waits for a factor that the person does not have yet. */
export const setUpPages = (deps: Deps, calls: Calls): SignInPage[] => {
  const waitingOf = ({ http }: Visit) => cookieOf(deps, http, loginCookie)
  const waits = async (visit: Visit) => (await waitingOf(visit))?.pending_id != null
  const showChoice = async (visit: Visit): Promise<Shown> =>
    (await waits(visit)) ? page(visit.texts.setUp.title, choice(deps, visit)) : go('')
  const showNewPasskey = async (visit: Visit): Promise<Shown> =>
    (await waits(visit)) ? page(visit.texts.setUp.usePasskey.title, newPasskey(deps, visit)) : go('')

  return [
    {
      path: 'set-up',
      show: showChoice,
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
        return settled(deps, calls, visit, (await calls.confirmApp(visit.http, { code })) as SignInAnswer)
      },
    },
    {
      // A new passkey proves nothing, so it is shown next, as any other factor.
      path: 'set-up/passkey',
      show: showChoice,
      async submit(visit) {
        await calls.setUpPasskey(visit.http, { credential: credentialOf(visit) })
        const row = await waitingOf(visit)
        if (row?.pending_id) await askForPasskey(deps, row.id, row.pending_id)
        return showNewPasskey(visit)
      },
    },
    optionsPage('set-up/passkey', ({ http }) => calls.setUpPasskeyOptions(http)),
    {
      path: 'set-up/passkey/use',
      show: showNewPasskey,
      async submit(visit) {
        const answer = await calls.showPasskey(visit.http, { credential: credentialOf(visit) })
        return settled(deps, calls, visit, answer as SignInAnswer)
      },
    },
    optionsPage('set-up/passkey/use', ({ http }) => calls.ownPasskeyOptions(http)),
  ]
}

/** The sign-in asks for the passkey from now on, also where the person comes back to it. */
export const askForPasskey = ({ db }: Deps, id: string, pendingId: string) =>
  asSystem(db, 'a cookie names its person and tenant', (tx) =>
    recordPending(tx, id, { pendingId, methods: ['passkey'] }),
  )

/** The first factor of a person is shown: they get recovery codes, once, and go on. */
async function settled(deps: Deps, calls: Calls, visit: Visit, answer: SignInAnswer): Promise<Shown> {
  if (!answer.authenticated || !channelsOn(deps.config).includes('static')) return codeShown(visit, answer)
  const made = (await calls.makeRecoveryCodes(visit.http)) as { codes: string[] }
  const codes = made.codes.map(grouped)
  const texts = visit.texts.recoveryCodes
  const file = `data:text/plain;charset=utf-8,${encodeURIComponent(`${codes.join('\n')}\n`)}`
  return page(
    texts.title,
    html`<p>${texts.lead}</p>
<ol class="codes">${codes.map((code) => html`<li><code>${code}</code></li>\n`)}</ol>
<p><a href="${file}" download="${texts.file}">${texts.download}</a></p>
${nextStep(visit, '', texts.kept)}`,
  )
}

function choice(deps: Deps, visit: Visit): Html {
  const { texts } = visit
  const byApp = channelsOn(deps.config).includes('totp')
  return html`<p>${texts.setUp.why}</p>
${byApp ? html`<p>${texts.setUp.apps}</p>\n` : needsScript(visit)}${refusalOf(visit)}${
  byApp ? form(visit, 'set-up', button(texts.setUp.begin)) : null
}
${passkeyForm(deps, visit, { path: 'set-up/passkey', words: texts.setUp.passkey, isNew: true, isOnly: !byApp })}
${asOther(visit)}`
}

const newPasskey = (deps: Deps, visit: Visit): Html => html`<p>${visit.texts.setUp.usePasskey.lead}</p>
${refusalOf(visit)}${passkeyForm(deps, visit, { path: 'set-up/passkey/use', words: visit.texts.passkey.show, isOnly: true })}
${asOther(visit)}`

/** As the console shows it. The dashes are ignored where it is typed. */
const grouped = (code: string) => code.replace(/(.{6})(?=.)/g, '$1-')

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
