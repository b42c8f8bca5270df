import { invalidField, notFound } from '../../errors.ts'
import { normaliseEmail } from '../../identity/person.ts'
import { card, signInStep } from '../../pages/links/cards.ts'
import type { Calls, PageDeps } from '../../pages/sign-in/calls.ts'
import { button, field, form, link, refusalOf } from '../../pages/sign-in/elements.ts'
import { nameOf, profileOf } from '../../pages/sign-in/profile.ts'
import { go, page, type Shown, type SignInPage, type Visit } from '../../pages/sign-in/visit.ts'
import { html } from '../../text/html.ts'
import { findUpstream } from '../find-upstream.ts'
import { accountOf, findByMail, findHere, type Waiting } from '../hold.ts'
import { browsersOf, settled } from './settled.ts'

const path = 'provider'

/** What a sign-in with another provider waits for. A GET links nothing: mail scanners open every link. */
export const heldPage = (deps: PageDeps, calls: Calls): SignInPage => ({
  path,
  takesLate: true, // the form has the token, or the flow has a time of its own
  async show(visit) {
    const { token } = visit.http.query
    if (visit.http.method === 'GET' && typeof token === 'string') {
      visit.keep({ heldToken: token.slice(0, 100) })
      return go(path)
    }
    const waiting = await waitingFor(deps, visit)
    return waiting ? shown(calls, visit, waiting) : dead(visit)
  },
  async submit(visit) {
    const waiting = await waitingFor(deps, visit)
    if (!waiting) return dead(visit)
    const { flowId, provider, waitsFor, madeId } = waiting
    const byMail = tokenOf(visit) !== undefined
    if (waitsFor === 'mail' && !byMail) return go(path)
    const upstream = await findUpstream(deps, provider)
    if (!upstream) throw notFound()
    if (waiting.isOwn) visit.returnTo ??= waiting.returnTo
    const said = { ...waiting.said }
    if (byMail) said.isAuthority = true // its reader read the mailbox
    if (waitsFor === 'address') Object.assign(said, { email: addressIn(visit), isAuthority: false })
    const replaces = visit.form.replaces === 'yes'
    return settled(deps, calls, visit, { flowId, upstream, said, madeId, replaces })
  },
})

const tokenOf = ({ form: fields, flow }: Visit): string | undefined => fields.token ?? flow.heldToken

function waitingFor(deps: PageDeps, visit: Visit): Promise<Waiting | null> {
  const token = tokenOf(visit)
  const { heldBy } = visit.flow
  if (token !== undefined) return findByMail(deps, browsersOf(visit), token)
  return heldBy === undefined ? Promise.resolve(null) : findHere(deps, browsersOf(visit), heldBy)
}

const dead = (visit: Visit): Shown =>
  card(visit.texts.provider.dead.title, visit.texts.provider.dead.lead, signInStep(visit))

function addressIn({ form: { email = '' } }: Visit): string {
  const address = normaliseEmail(email)
  if (address === null) throw invalidField('email', 'This is no e-mail address.', 'invalid')
  return address
}

async function shown(calls: Calls, visit: Visit, waiting: Waiting): Promise<Shown> {
  const token = tokenOf(visit)
  const profile = await profileOf(calls, visit)
  const here = profile && nameOf(profile)
  const words = visit.texts.provider
  const { name, said, isOwn } = waiting
  const [account, email] = [accountOf(said), said.email ?? '']
  const isOther = here !== null && profile?.email !== said.email
  if (token !== undefined) {
    const { title, own, elsewhere, button: thatWasMe } = words.confirm
    const lead = isOwn ? own : elsewhere
    return page(
      title(name),
      html`<p>${lead(name, account, email)}</p>
${isOther ? html`<p>${words.replace.lead(here, email, name)}</p>\n` : null}${refusalOf(visit)}${form(
  visit,
  path,
  html`<input type="hidden" name="token" value="${token}">
${isOther ? html`<input type="hidden" name="replaces" value="yes">\n` : null}${button(isOwn ? visit.texts.continue : thatWasMe)}`,
)}`,
    )
  }
  switch (waiting.waitsFor) {
    case 'mail':
      return page(
        visit.texts.sent.title,
        html`<p>${words.sent(email)}</p>\n<p>${visit.texts.sent.notThere}</p>`,
      )
    case 'address':
      return page(
        words.address.title,
        html`<p>${words.address.lead(name)}</p>
${refusalOf(visit, 'email')}${form(
  visit,
  path,
  html`${field(visit, {
    name: 'email',
    label: visit.texts.email,
    type: 'email',
    autocomplete: 'email',
    more: html`maxlength="254" autofocus spellcheck="false"`,
  })}${button(visit.texts.continue)}`,
)}`,
      )
    case 'person':
      return page(
        words.replace.title,
        html`<p>${words.replace.lead(here ?? '', account, name)}</p>
${refusalOf(visit)}${form(
  visit,
  path,
  html`<input type="hidden" name="replaces" value="yes">\n${button(words.replace.button(account))}`,
)}
<p class="aside">${link(visit, '', words.replace.stay(here ?? ''))}</p>`,
      )
  }
}
