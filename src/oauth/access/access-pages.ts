import type { Calls, PageDeps } from '../../pages/sign-in/calls.ts'
import { button, form, link, refusalOf } from '../../pages/sign-in/elements.ts'
import { momentFor, type Profile, profileOf } from '../../pages/sign-in/profile.ts'
import { go, page, type SignInPage } from '../../pages/sign-in/visit.ts'
import { html } from '../../text/html.ts'
import { answerRequest, goBack, hostOf, waitingRequest } from '../waiting-request.ts'

// Why a person cannot use an application, or how they ask for it. Each leads back to the application, too.

const choice = { name: 'decision' }

/** Says why a person is not let in, and by which decision. */
export const deniedPage = (deps: PageDeps, calls: Calls): SignInPage => ({
  path: 'denied',
  async show(visit) {
    const person = await profileOf(calls, visit)
    if (!person) return go('')
    const { payload, client } = await waitingRequest(deps, visit)
    const { code = '', message = '', decisionId } = payload.prompt.details
    const { access, consent } = visit.texts
    return page(
      access.denied(client.name),
      html`${who(person)}<p class="alert" role="alert">${access.reasons[code] ?? message}</p>
${decisionId ? html`<p>${access.decision}<br><code>${decisionId}</code></p>\n` : null}${form(
  visit,
  'denied',
  button(access.back(client.name), { ...choice, value: 'back' }),
)}
<p class="aside">${link(visit, 'address', consent.other)}</p>`,
    )
  },
  submit: async (visit) => answerRequest(deps, visit, await waitingRequest(deps, visit), goBack),
})

/** Lets a person ask for an approval, and shows that it waits or was rejected. */
export const askPage = (deps: PageDeps, calls: Calls): SignInPage => ({
  path: 'access',
  async show(visit) {
    const person = await profileOf(calls, visit)
    if (!person) return go('')
    const waiting = await waitingRequest(deps, visit)
    const { request, rejectedAt } = waiting.payload.prompt.details
    const { access, consent } = visit.texts
    const { name } = waiting.client
    const back = button(access.back(name), { ...choice, value: 'back', quiet: true })
    return page(
      request ? access.waits : rejectedAt ? access.rejected : access.ask(name),
      html`${who(person)}${rejectedAt ? html`<p class="alert">${access.rejectedAt(momentFor(visit, person, rejectedAt))}</p>\n` : null}<p>${
        request
          ? access.until(name, momentFor(visit, person, request.expiresAt))
          : access.lead(name, hostOf(waiting, visit.texts))
      }</p>
${refusalOf(visit)}${form(
  visit,
  'access',
  html`${
    request
      ? html`<a class="button" href="${visit.prefix}${visit.returnTo}">${access.look}</a>`
      : button(rejectedAt ? access.sendAgain : access.send, { ...choice, value: 'ask' })
  }${back}`,
)}
<p class="aside">${link(visit, 'address', consent.other)}</p>`,
    )
  },
  async submit(visit) {
    const here = await calls.whoIsHere(visit.http)
    if (!here) return go('')
    const waiting = await waitingRequest(deps, visit)
    const asks = { ...waiting.payload.lastSubmission, asks: here.userId }
    return answerRequest(deps, visit, waiting, visit.form.decision === 'ask' ? asks : goBack)
  },
})

const who = ({ email }: Profile) => html`<p class="who"><span>${email}</span></p>\n`
