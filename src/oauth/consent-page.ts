import { z } from 'zod'
import { readAsSystem, readInTenant } from '../database/executor/read.ts'
import { nameOfClient } from '../messages/mail/client-name.ts'
import type { Calls, PageDeps } from '../pages/sign-in/calls.ts'
import { button, form, link, refusalOf } from '../pages/sign-in/elements.ts'
import { profileOf } from '../pages/sign-in/profile.ts'
import { go, page, type SignInPage, signedIn, type Visit } from '../pages/sign-in/visit.ts'
import { findTenant } from '../tenancy/tenants/store.ts'
import { html } from '../text/html.ts'
import { isIdentityScope } from './clients/client-schemas.ts'
import { findDevice } from './devices/store.ts'
import { findByIdentifier } from './resources/store.ts'
import { isHeld } from './tokens/held-scopes.ts'
import { answerRequest, hostOf, waitingRequest } from './waiting-request.ts'

const deviceInfo = z.object({ ip: z.string().default(''), userAgent: z.string().default('') })

/** Where a device asked from. */
async function deviceOf(deps: PageDeps, id: string) {
  const row = await readAsSystem(deps.db, 'a code of a device names its tenant', (read) =>
    findDevice(read, id, deps.clock()),
  )
  return deviceInfo.parse(row?.payload.deviceInfo ?? {})
}

/** Someone else can have sent the code: only the person knows whether the device is theirs. */
function startedBy({ texts: { device } }: Visit, { ip, userAgent }: z.output<typeof deviceInfo>) {
  const { browser, system } = nameOfClient(userAgent)
  const from = [ip, browser, system].filter(Boolean).join(', ')
  return html`<p class="notice"><strong>${device.question}</strong> ${device.from(from)} ${device.warning}</p>`
}

/** Asks a person whether an application may know them. */
export const consentPage = (deps: PageDeps, calls: Calls): SignInPage => ({
  path: 'consent',
  async show(visit) {
    const here = await calls.whoIsHere(visit.http)
    if (!here || !(await profileOf(calls, visit))) return go('')
    const waiting = await waitingRequest(deps, visit)
    const { payload, client } = waiting
    const { tenantId } = payload.prompt.details
    // Another tab took the browser to another tenant: the request takes it back, or asks for that one.
    if (tenantId !== here.tenantId) return signedIn(visit)
    const scope = { tenantId, userId: here.userId }
    const named = [payload.params.resource ?? []].flat()
    const [tenant, resources] = await readInTenant(deps.db, scope, (read) =>
      Promise.all([
        findTenant(read, tenantId, here.userId),
        Promise.all(named.map((one) => findByIdentifier(read, tenantId, one))),
      ]),
    )
    const { consent } = visit.texts
    const asked = payload.params.scope.split(' ').filter((one) => client.scopes.includes(one))
    const described = resources.flatMap((one) => one?.scopes ?? [])
    const words = (one: string) =>
      described.find(({ permission }) => permission === one)?.description || (consent.scopes[one] ?? one)
    const acts = asked.filter((one) => !isIdentityScope(one) && isHeld(here.member, one))
    const places = named.map((one, i) => resources[i]?.name ?? new URL(one).host).join(', ')
    const choice = { name: 'decision' }
    return page(
      consent.title(client.name),
      html`<p>${consent.lead(client.name, tenant?.name ?? '')}</p>
<ul>${asked.filter(isIdentityScope).map((one) => html`<li>${words(one)}</li>\n`)}</ul>
${places && html`<p>${consent.acts(places)}</p>\n<ul>${acts.map((one) => html`<li>${words(one)}</li>\n`)}</ul>`}
${payload.deviceCode ? startedBy(visit, await deviceOf(deps, payload.deviceCode)) : html`<p>${consent.leadsTo(hostOf(waiting, visit.texts))}</p>`}
${refusalOf(visit)}${form(
  visit,
  'consent',
  html`${button(consent.allow, { ...choice, value: 'allow' })}${button(consent.deny, { ...choice, value: 'deny', quiet: true })}`,
)}
<p class="aside">${link(visit, 'address', consent.other)}</p>`,
    )
  },
  async submit(visit) {
    const here = await calls.whoIsHere(visit.http)
    if (!here) return go('')
    const waiting = await waitingRequest(deps, visit)
    const { userId, sessionId } = here
    const { tenantId } = waiting.payload.prompt.details
    const result =
      visit.form.decision === 'allow'
        ? { ...waiting.payload.lastSubmission, consent: { userId, sessionId, tenantId } }
        : { error: 'access_denied', error_description: 'The person did not consent' }
    return answerRequest(deps, visit, waiting, result)
  },
})
