import { html } from '../../text/html.ts'
import type { Calls } from './calls.ts'
import { button, field, form, link, refusalOf } from './elements.ts'
import { go, page, type SignInPage } from './visit.ts'

/** Mails a link to choose a new password. The answer is the same for every address. */
export const forgotPages = (calls: Calls): SignInPage[] => [
  {
    path: 'forgot',
    show(visit) {
      const { texts, flow } = visit
      return page(
        texts.forgot.title,
        html`<p>${texts.forgot.lead}</p>
${refusalOf(visit, 'email')}${form(
  visit,
  'forgot',
  html`${field(visit, {
    name: 'email',
    label: texts.email,
    type: 'email',
    autocomplete: 'username',
    value: visit.form.email ?? flow.email ?? '',
    more: html`maxlength="254" autofocus spellcheck="false"`,
  })}${button(texts.forgot.send)}`,
)}
<p class="aside">${link(visit, '', texts.back)}</p>`,
      )
    },
    async submit(visit) {
      const { email = '' } = visit.form
      await calls.mailReset(visit.http, { email })
      visit.keep({ email: email.trim() })
      return go('forgot/sent')
    },
  },
  {
    path: 'forgot/sent',
    show(visit) {
      const { texts, flow } = visit
      if (!flow.email) return go('forgot')
      return page(
        texts.sent.title,
        html`<p>${texts.forgot.sent(flow.email)}</p>
<p>${texts.sent.notThere}</p>
<p class="aside">${link(visit, '', texts.back)}</p>`,
      )
    },
  },
]
