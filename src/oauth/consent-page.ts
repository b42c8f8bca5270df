import { z } from 'zod'
import { nilUuid } from '../crypto/uuid.ts'
import { readAsSystem, readInTenant } from '../database/executor/read.ts'
import { asSystem } from '../database/executor/transaction.ts'
import { ApiError } from '../errors.ts'
import type { Calls, PageDeps } from '../pages/sign-in/calls.ts'
import { button, form, link, refusalOf } from '../pages/sign-in/elements.ts'
import { profileOf } from '../pages/sign-in/profile.ts'
import { go, page, type SignInPage, signedIn, type Visit } from '../pages/sign-in/visit.ts'
import { findTenant } from '../tenancy/tenants/store.ts'
import { html } from '../text/html.ts'
import { readClientId } from './clients/client-id.ts'
import { isIdentityScope } from './clients/client-schemas.ts'
import { findUsableClient } from './clients/store.ts'
import { interactionSeconds } from './provider.ts'
import { findModel, putModel } from './store.ts'

const interaction = z.looseObject({
  params: z.looseObject({ client_id: z.string(), redirect_uri: z.string(), scope: z.string().default('') }),
  lastSubmission: z.looseObject({}).optional(),
})

/** Asks a person whether an application may know them. It answers the request of an application, at the end of `return_to`. */
export const consentPage = (deps: PageDeps, calls: Calls): SignInPage => {
  const reason = 'a request of an application names its tenant'
  const uidOf = ({ returnTo }: Visit) => /^\/oauth\/authorize\/([\w-]{1,64})$/.exec(returnTo ?? '')?.[1]

  async function requestOf(visit: Visit) {
    const uid = uidOf(visit)
    const row =
      uid &&
      (await readAsSystem(deps.db, reason, (read) => findModel(read, 'Interaction', uid, deps.clock())))
    const payload = row ? interaction.parse(row.payload) : null
    const key = payload && readClientId(payload.params.client_id)
    const scope = key && { tenantId: key.tenantId, userId: nilUuid }
    const client = scope && (await readInTenant(deps.db, scope, (read) => findUsableClient(read, key)))
    if (!uid || !payload || !key || !client) throw new ApiError(400, 'request_over', visit.texts.consent.gone)
    return { uid, payload, key, client }
  }

  return {
    path: 'consent',
    async show(visit) {
      const here = await calls.whoIsHere(visit.http)
      if (!here || !(await profileOf(calls, visit))) return go('')
      const { payload, client, key } = await requestOf(visit)
      const scope = { tenantId: key.tenantId, userId: here.userId }
      const tenant = await readInTenant(deps.db, scope, (read) => findTenant(read, key.tenantId, here.userId))
      const { consent } = visit.texts
      const asked = payload.params.scope
        .split(' ')
        .filter((one) => isIdentityScope(one) && client.scopes.includes(one))
      const { host, protocol } = new URL(payload.params.redirect_uri)
      const choice = { name: 'decision' }
      return page(
        consent.title(client.name),
        html`<p>${consent.lead(client.name, tenant?.name ?? '')}</p>
<ul>${asked.map((one) => html`<li>${consent.scopes[one] ?? one}</li>\n`)}</ul>
<p>${consent.leadsTo(host || protocol)}</p>
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
      const { uid, payload, key } = await requestOf(visit)
      const { userId, sessionId } = here
      const result =
        visit.form.decision === 'allow'
          ? { ...payload.lastSubmission, consent: { userId, sessionId } }
          : { error: 'access_denied', error_description: 'The person did not consent' }
      const at = deps.clock()
      await asSystem(deps.db, reason, async (tx) =>
        putModel(tx, {
          kind: 'Interaction',
          id: uid,
          sessionId: null,
          userId: null,
          client: key,
          grantId: null,
          payload: { ...payload, result },
          at,
          expiresAt: at + interactionSeconds * 1000,
        }),
      )
      return signedIn(visit)
    },
  }
}
