import type { Deps } from '../../deps.ts'
import { type Calls, unlessSignedOut } from '../../pages/sign-in/calls.ts'
import { button, form, link } from '../../pages/sign-in/elements.ts'
import { momentFor, profileOf } from '../../pages/sign-in/profile.ts'
import { go, page, type SignInPage } from '../../pages/sign-in/visit.ts'
import { html } from '../../text/html.ts'
import { connectionCalls } from './connections.ts'

/** Shows a person the applications that they are connected to, each with a button that ends all their sign-ins to it. */
export const connectedPage = (deps: Deps, calls: Calls): SignInPage => {
  const { list, disconnect } = connectionCalls(deps, calls)
  return {
    path: 'applications',
    async show(visit) {
      const person = await profileOf(calls, visit)
      if (!person) return go('')
      const { connected, signedIn } = visit.texts
      const number = Math.max(1, Math.trunc(Number(visit.http.query.page)) || 1)
      const { connections, hasMore } = await list(visit.http, { number })
      const entries = connections.map(
        ({ tenantId, clientId, application, tenant, count, since }) =>
          html`<p class="who"><span>${application}</span> <small>${tenant} · ${connected.since(momentFor(visit, person, since), count)}</small></p>
${button(connected.end(application), { quiet: true, name: 'id', value: `${tenantId} ${clientId}` })}
`,
      )
      return page(
        connected.title,
        html`<p>${entries.length > 0 ? connected.lead : connected.none}</p>
${entries.length > 0 ? form(visit, 'applications', html`${entries}`) : null}${
  hasMore
    ? html`<p><a href="${visit.prefix}/sign-in/applications/?page=${String(number + 1)}">${connected.more}</a></p>\n`
    : null
}<p class="aside">${link(visit, '', signedIn.title)}</p>`,
      )
    },
    async submit(visit) {
      const [tenantId, clientId] = (visit.form.id ?? '').split(' ')
      await unlessSignedOut(disconnect(visit.http, { tenantId, clientId }))
      return go('applications')
    },
  }
}
