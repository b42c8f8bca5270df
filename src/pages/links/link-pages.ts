import type { Deps } from '../../deps.ts'
import { chooseLanguage } from '../../languages/choose-language.ts'
import { formatMoment } from '../../languages/format.ts'
import { type MailedLink, mailedLinks } from '../../messages/links/mailed-links.ts'
import type { RouteCall } from '../../request/request-path.ts'
import { type Html, html } from '../../text/html.ts'
import type { Calls } from '../sign-in/calls.ts'
import { button, form, link, refusalOf } from '../sign-in/elements.ts'
import { continueAfterProof, newPassword } from '../sign-in/register.ts'
import { page, type Shown, type SignInPage, type Visit } from '../sign-in/visit.ts'
import { card, closeStep, resetStep, signInStep } from './cards.ts'
import { forgetToken, tokenField, withToken } from './carried-token.ts'

const paths: ReadonlySet<string> = new Set(Object.values(mailedLinks).map(({ page }) => page))

/** Whether a path is that of a mailed link's page. Routers ignore case, and a slash at the end. */
export const isLinkPage = (path: string): boolean => paths.has(path.toLowerCase().replace(/(?<=.)\/$/, ''))

/** A link whose page has a button that posts its token to the API. */
interface PlainLink {
  name: Exclude<MailedLink, 'invitation' | 'magic_link'>
  call: RouteCall
  /** Where the browser goes on after success, where it waits for that; null: a card says what is done. */
  goOn?(visit: Visit, answer: unknown): Promise<Shown | null>
  /** The next step after success, and for a link that works no longer. */
  next(visit: Visit): Html
  renew(visit: Visit): Html
  fields?(visit: Visit): Html
  /** What stands above and below the form. */
  above?(visit: Visit): Html | null
  below?(visit: Visit): Html
}

/** The pages of mailed links. A GET changes nothing: mail scanners open every link. */
export const linkPages = (deps: Deps, calls: Calls): SignInPage[] => plainLinks(deps, calls).map(linkPage)

const plainLinks = (deps: Deps, calls: Calls): PlainLink[] => [
  {
    name: 'email_verification',
    call: calls.confirmAddress,
    goOn: (visit, answer) => continueAfterProof(deps, calls, visit, answer as { userId: string }),
    next: signInStep,
    renew: signInStep,
    above: originLine,
    below: (visit) =>
      aside(link(visit, `${mailedLinks.email_rejection.page}${visit.http.search}`, visit.texts.links.notMe)),
  },
  {
    name: 'email_rejection',
    call: calls.rejectAddress,
    next: closeStep,
    renew: resetStep,
    above: originLine,
  },
  {
    name: 'password_reset',
    call: calls.resetPassword,
    next: signInStep,
    renew: resetStep,
    fields: (visit) => newPassword(visit, visit.texts.links.newPassword),
  },
  { name: 'email_undo', call: calls.undoAddress, next: resetStep, renew: closeStep },
  { name: 'factor_undo', call: calls.undoFactor, next: resetStep, renew: closeStep },
  { name: 'identity_undo', call: calls.undoIdentity, next: resetStep, renew: closeStep },
  { name: 'tenant_leave', call: calls.leaveTenant, next: closeStep, renew: signInStep },
]

function linkPage({ name, call, goOn, next, renew, fields, above, below }: PlainLink): SignInPage {
  const path = mailedLinks[name].page
  return {
    path,
    takesLate: true, // the form has the token, which has a time of its own
    show: (visit) =>
      withToken(visit, name, renew(visit), (token) => {
        const texts = visit.texts.links[name]
        const content = html`${tokenField(token)}${fields?.(visit) ?? null}${button(texts.button)}`
        return page(
          texts.title,
          html`${above?.(visit) ?? null}<p>${texts.lead}</p>
${refusalOf(visit, 'password')}${form(visit, path, content)}${below?.(visit) ?? null}`,
        )
      }),
    async submit(visit) {
      const { token = '', password } = visit.form
      const answer = await call(visit.http, fields ? { token, password } : { token })
      forgetToken(visit, name)
      const { done } = visit.texts.links[name]
      return (await goOn?.(visit, answer)) ?? card(done.title, done.lead, next(visit))
    },
  }
}

const aside = (content: Html) => html`<p class="aside">${content}</p>`

/** Says when the account got the address. Anyone can make a link, so it shows only a number of it, in a fixed sentence. */
function originLine({ http, texts, language }: Visit): Html | null {
  for (const how of ['made', 'changed'] as const) {
    const at = http.query[how]
    if (typeof at === 'string' && /^\d{1,14}$/.test(at))
      return html`<p>${texts.links[how](formatMoment(Number(at), chooseLanguage(language).format))}</p>\n`
  }
  return null
}
