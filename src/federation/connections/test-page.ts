import type { Context } from 'koa'
import { ApiError } from '../../errors.ts'
import type { Texts } from '../../languages/en.ts'
import type { PageDeps } from '../../pages/sign-in/calls.ts'
import { page, type SignInPage } from '../../pages/sign-in/visit.ts'
import { pathId } from '../../request/path-id.ts'
import { html } from '../../text/html.ts'
import { finishTest, type Tried } from './test-connection.ts'

/** The end of a sign-in that tries a connection of OpenID Connect. */
export const testPage = (deps: PageDeps): SignInPage => ({
  path: 'callback/:id',
  async show({ http, params, texts }) {
    const answer = {
      id: pathId(params.id),
      kind: 'oidc',
      parameters: new URLSearchParams(http.querystring),
    } as const
    const { title, content } = resultOf(await finishTry(deps, http, answer), texts)
    return page(title, content)
  },
})

/** Finishes a try. Gives what the provider says, or why its answer is refused; throws the other errors of {@link finishTest}. */
export async function finishTry(
  deps: PageDeps,
  http: Context,
  answer: Omit<Parameters<typeof finishTest>[1], 'requestInfo'>,
): Promise<Tried | ApiError> {
  try {
    return await finishTest(deps, { ...answer, requestInfo: http.state.requestInfo })
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'provider_refused')) throw error
    http.state.error = error
    return error
  }
}

/** The page for what {@link finishTry} gave. */
export function resultOf(result: Tried | ApiError, { connectionTest: words }: Texts['pages']) {
  if (result instanceof ApiError)
    return {
      title: words.fails,
      content: html`<p class="alert" role="alert">${result.message}</p>\n<p>${words.again}</p>`,
    }
  const rows = Object.entries(result.claims).map(
    ([name, value]) =>
      html`<dt>${name}</dt><dd>${typeof value === 'string' ? value : JSON.stringify(value)}</dd>\n`,
  )
  return {
    title: words.works(result.name),
    content: html`<p>${words.lead(result.subject)}</p>\n<dl>${rows}</dl>\n<p>${words.close}</p>`,
  }
}
