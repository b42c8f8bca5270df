import { readFileSync } from 'node:fs'
import type { Deps } from '../../deps.ts'
import { isNonceOf } from '../../identity/magic-links/confirm-magic-link.ts'
import { mailedLinks } from '../../messages/links/mailed-links.ts'
import { html } from '../../text/html.ts'
import { asset } from '../asset.ts'
import type { Calls, SignInAnswer } from '../sign-in/calls.ts'
import { button, form, refusalOf } from '../sign-in/elements.ts'
import { afterFactor } from '../sign-in/password.ts'
import { page, type SignInPage, type Visit } from '../sign-in/visit.ts'
import { card, signInStep } from './cards.ts'
import { forgetToken, tokenField, withToken } from './carried-token.ts'

const name = 'magic_link'
const path = mailedLinks[name].page

export const magicLinkScript = asset(
  '/sign-in/magic-link.js',
  readFileSync(new URL('../browser/magic-link.js', import.meta.url)),
)

/**
 * A link to sign in. Where these pages asked for it in the same browser, it signs in on them. A link that an application of
 * this origin asked for is used by a script, which has their nonce: docs/how-to/log-in-by-mail.md.
 */
export function magicLinkPage(deps: Deps, calls: Calls): SignInPage {
  // A wrong nonce would use the link up, so it is compared before.
  const nonceOf = ({ flow: { nonce } }: Visit, token: string) =>
    nonce !== undefined && isNonceOf(deps, token, nonce) ? nonce : null

  return {
    path,
    show: (visit) =>
      withToken(visit, name, signInStep(visit), (token) => {
        const texts = visit.texts.links[name]
        const ofScript = html`<p role="status" data-done="${texts.done}" data-dead="${texts.dead}" data-wrong="${texts.wrong}"></p>
<script src="${visit.prefix}${magicLinkScript.href}" defer></script>`
        return page(
          texts.title,
          html`<p>${texts.lead}</p>
${refusalOf(visit)}${form(visit, path, html`${tokenField(token)}${button(texts.button)}`)}
${nonceOf(visit, token) === null ? ofScript : null}`,
        )
      }),
    async submit(visit) {
      const { token = '' } = visit.form
      const nonce = nonceOf(visit, token)
      const { elsewhere } = visit.texts.links[name]
      if (nonce === null) return card(elsewhere.title, elsewhere.lead, signInStep(visit))
      const answer = (await calls.confirmMagicLink(visit.http, { token, nonce })) as SignInAnswer
      forgetToken(visit, name)
      visit.returnTo ??= visit.flow.returnTo ?? null
      return afterFactor(visit, calls, answer)
    },
  }
}
