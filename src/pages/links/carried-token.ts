import { type MailedLink, mailedLinks } from '../../messages/links/mailed-links.ts'
import { type Html, html } from '../../text/html.ts'
import type { Shown, Visit } from '../sign-in/visit.ts'
import { deadCard, incompleteCard } from './cards.ts'

/** A confirmation and a rejection of an address are two pages for one token. */
const keyOf = (name: MailedLink): MailedLink => (name === 'email_rejection' ? 'email_verification' : name)

/**
 * Takes the token of a link out of the address, and keeps it in the flow: it must not stay in the history, in a bookmark, or
 * in what the browser tells as the referrer. Gives the address without it; null where the address has none.
 */
export function carryToken(visit: Visit, name: MailedLink): Shown | null {
  const query = new URLSearchParams(visit.http.querystring)
  const token = query.get('token')
  if (visit.http.method === 'POST' || token === null) return null
  if (/^[\w-]{20,100}$/.test(token)) visit.keep({ links: { ...visit.flow.links, [keyOf(name)]: token } })
  else forgetToken(visit, name)
  query.delete('token')
  const { page } = mailedLinks[name]
  return { kind: 'leave', to: query.size > 0 ? `${page}?${query}` : page }
}

/** The token that a page of a link is about: that of its form, so that two links in two tabs stay apart. */
export const tokenOf = ({ form, flow }: Visit, name: MailedLink): string | undefined =>
  form.token ?? flow.links?.[keyOf(name)]

/**
 * The page of a link with its token. Before that, the address without the token; and the card of a link that is dead, which leads to
 * `step`, or incomplete.
 */
export function withToken(
  visit: Visit,
  name: Exclude<MailedLink, 'invitation'>,
  step: Html,
  pageOf: (token: string) => Shown,
): Shown {
  const done = carryToken(visit, name) ?? deadCard(visit, visit.texts.links[name].dead, step)
  const token = tokenOf(visit, name)
  return done ?? (token === undefined ? incompleteCard(visit) : pageOf(token))
}

export const tokenField = (token: string): Html => html`<input type="hidden" name="token" value="${token}">\n`

export function forgetToken(visit: Visit, name: MailedLink): void {
  const { [keyOf(name)]: _, ...links } = visit.flow.links ?? {}
  visit.keep({ links })
}
