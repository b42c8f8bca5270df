import { asApiError } from '../../http/problem.ts'
import type { PageDeps } from '../../pages/sign-in/calls.ts'
import { page, type SignInPage } from '../../pages/sign-in/visit.ts'
import { pathId } from '../../request/path-id.ts'
import { html } from '../../text/html.ts'
import { finishTest } from './test-connection.ts'

/** The end of a sign-in that tries a connection: what the provider says, or why its answer is refused. */
export const testPage = (deps: PageDeps): SignInPage => ({
  path: 'callback/:id',
  async show(visit) {
    const { http, params, texts } = visit
    const words = texts.connectionTest
    try {
      const tried = await finishTest(deps, {
        id: pathId(params.id),
        parameters: new URLSearchParams(http.querystring),
        requestInfo: http.state.requestInfo,
      })
      const rows = Object.entries(tried.claims).map(
        ([name, value]) =>
          html`<dt>${name}</dt><dd>${typeof value === 'string' ? value : JSON.stringify(value)}</dd>\n`,
      )
      return page(
        words.works(tried.name),
        html`<p>${words.lead(tried.subject)}</p>\n<dl>${rows}</dl>\n<p>${words.close}</p>`,
      )
    } catch (error) {
      const refusal = asApiError(error)
      if (refusal.code !== 'provider_refused') throw error
      http.state.error = refusal
      return page(
        words.fails,
        html`<p class="alert" role="alert">${refusal.message}</p>\n<p>${words.again}</p>`,
      )
    }
  },
})
