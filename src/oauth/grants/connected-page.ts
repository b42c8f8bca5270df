import type { z } from 'zod'
import { ApiError } from '../../errors.ts'
import { type Calls, unlessSignedOut } from '../../pages/sign-in/calls.ts'
import { button, form, link } from '../../pages/sign-in/elements.ts'
import { momentFor, profileOf } from '../../pages/sign-in/profile.ts'
import { go, page, type SignInPage } from '../../pages/sign-in/visit.ts'
import { html } from '../../text/html.ts'
import type { authorizationSchema } from './grant-schemas.ts'

type Authorization = z.output<typeof authorizationSchema>

/** Shows a person the applications that they are connected to, each with a button that ends it. */
export const connectedPage = (calls: Calls): SignInPage => ({
  path: 'applications',
  async show(visit) {
    const person = await profileOf(calls, visit)
    if (!person) return go('')
    const { connected, signedIn } = visit.texts
    const { results } = (await calls.authorizations(visit.http)) as { results: Authorization[] }
    return page(
      connected.title,
      html`<p>${results.length > 0 ? connected.lead : connected.none}</p>
${results.map(
  ({ id, client, tenant, created_at }) =>
    html`<p class="who"><span>${client.name || client.id}</span> <small>${tenant.name} · ${momentFor(visit, person, Date.parse(created_at))}</small></p>
${form(visit, 'applications', button(connected.end(client.name || client.id), { quiet: true, name: 'id', value: id }))}
`,
)}<p class="aside">${link(visit, '', signedIn.title)}</p>`,
    )
  },
  async submit(visit) {
    const { id = '' } = visit.form
    const ended = calls.disconnect(visit.http, {}, { id }).catch((error) => {
      // It has ended already, for example in another tab.
      if (!(error instanceof ApiError && error.status === 404)) throw error
    })
    await unlessSignedOut(ended)
    return go('applications')
  },
})
