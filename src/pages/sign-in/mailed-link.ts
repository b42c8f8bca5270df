import type { Deps } from '../../deps.ts'
import { html } from '../../text/html.ts'
import type { Calls } from './calls.ts'
import { button, form, link } from './elements.ts'
import { mailsLinks, passwordForm } from './password.ts'
import { go, page, type SignInPage, type Visit } from './visit.ts'

/** Mails a link to sign in. The answer is the same for every address. The link works in this browser only. */
export const mailedLinkPages = (deps: Deps, calls: Calls): SignInPage[] =>
  mailsLinks(deps)
    ? [
        {
          path: 'mailed-link',
          show: (visit) => passwordForm(deps, visit),
          async submit(visit) {
            const { email = '' } = visit.flow
            const { nonce } = (await calls.mailLink(visit.http, { email })) as { nonce: string }
            visit.keep({ nonce, returnTo: visit.returnTo })
            return go('mailed-link/sent')
          },
        },
        { path: 'mailed-link/sent', show: sentPage },
      ]
    : []

function sentPage(visit: Visit) {
  const { texts, flow } = visit
  if (!flow.email || !flow.nonce) return go('')
  return page(
    texts.sent.title,
    html`<p>${texts.mailedLink.sent(flow.email)}</p>
<p>${texts.sent.notThere}</p>
${form(visit, 'mailed-link', button(texts.mailedLink.again, { quiet: true }))}
<p class="aside">${link(visit, 'password', texts.mailedLink.password)}</p>`,
  )
}
