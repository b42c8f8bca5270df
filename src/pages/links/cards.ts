import type { Html } from '../../text/html.ts'
import { html } from '../../text/html.ts'
import { nextStep } from '../sign-in/elements.ts'
import { page, type Shown, type Visit } from '../sign-in/visit.ts'

/** The end of a link: what happened, and one next step. */
export const card = (title: string, lead: string, step: Html): Shown =>
  page(title, html`<p>${lead}</p>\n${step}`)

/** To the sign-in; where it is in the application, the page has nothing more to offer. */
export const signInStep = (visit: Visit, words = visit.texts.links.signIn): Html =>
  visit.isHosted ? nextStep(visit, '', words) : closeStep(visit)

/** To a new link that resets the password. */
export const resetStep = (visit: Visit, words = visit.texts.links.resetPassword): Html =>
  visit.isHosted ? nextStep(visit, 'forgot', words) : closeStep(visit)

export const closeStep = ({ texts }: Visit): Html => html`<p>${texts.links.close}</p>`

export const incompleteCard = ({ texts }: Visit): Shown =>
  page(texts.links.incomplete.title, html`<p>${texts.links.incomplete.lead}</p>`)

const expired = new Set(['token_expired', 'invitation_expired'])
const used = new Set(['token_invalid', 'invitation_invalid'])

/** The card for a link that works no longer; null while the refusal is another one. */
export function deadCard({ texts, refusal }: Visit, lead: string, step: Html): Shown | null {
  if (!refusal) return null
  if (expired.has(refusal.code)) return card(texts.links.expired, lead, step)
  return used.has(refusal.code) ? card(texts.links.used, lead, step) : null
}
