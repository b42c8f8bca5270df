import type { Context, Middleware } from 'koa'
import { ApiError, notFound } from '../../errors.ts'
import { pathPrefix } from '../../http/path-prefix.ts'
import { asApiError } from '../../http/problem.ts'
import { authorizeUses } from '../../identity/rate-limits/limits.ts'
import type { PageDeps } from '../../pages/sign-in/calls.ts'
import { sentenceOf } from '../../pages/sign-in/elements.ts'
import { formReader } from '../../pages/sign-in/read-form.ts'
import { pageWriter, type WritePage } from '../../pages/sign-in/write-page.ts'
import { pathId } from '../../request/path-id.ts'
import { html } from '../../text/html.ts'
import { serviceProviderOf } from '../connections/addresses.ts'
import { findClient } from '../connections/test-connection.ts'
import { finishTry, resultOf } from '../connections/test-page.ts'
import { unpackRelayState } from '../connections/try-state.ts'
import { keepAnswer } from '../flows.ts'
import { subjectAttributeOf } from './saml.ts'
import { serviceProviderMetadata } from './service-provider-metadata.ts'

// A response of 256 KiB in base64, whose signs `+`, `/` and ends of lines take three bytes each in a form.
const readForm = formReader(512 * 1024)
const address = /^\/saml\/([^/]+)\/(metadata|acs)\/?$/

/**
 * What identity providers and their administrators use of a connection of SAML: our metadata, and the address of responses.
 * Nothing of a response is read before its RelayState is known to be ours.
 */
export function samlRoutes(deps: PageDeps): Middleware {
  const writePage = pageWriter(deps)
  return async (http, next) => {
    const [, id, what] = address.exec(http.path) ?? []
    if (id === undefined) return next()
    http.state.measuredAs = 'saml'
    if (what === 'metadata') await showMetadata(deps, http, id)
    else await takeResponse(deps, http, writePage, id)
  }
}

async function findSaml(deps: PageDeps, id: string) {
  const connection = await findClient(deps, pathId(id))
  if (connection.kind !== 'saml') throw notFound()
  return connection
}

async function showMetadata(deps: PageDeps, http: Context, id: string): Promise<void> {
  assertMethod(http, 'GET', 'HEAD')
  const connection = await findSaml(deps, id)
  http.type = 'application/samlmetadata+xml'
  http.set('Cache-Control', 'no-cache')
  http.body = serviceProviderMetadata(
    serviceProviderOf(deps, id),
    subjectAttributeOf(connection.subject_attribute),
  )
}

async function takeResponse(deps: PageDeps, http: Context, writePage: WritePage, id: string): Promise<void> {
  assertMethod(http, 'POST')
  try {
    await deps.limiters.take(authorizeUses(http.state.requestInfo.ip))
    const { status } = await findSaml(deps, id)
    const form = await readForm(http)
    const isTry = unpackRelayState(deps, id, form.RelayState ?? '') !== null
    if (status === 'active' && !isTry) return lead(deps, http, await wayOn(deps, id, form))
    const result = await finishTry(deps, http, { id, kind: 'saml', parameters: new URLSearchParams(form) })
    await writePage(http, ({ texts }) => resultOf(result, texts))
  } catch (thrown) {
    const error = asApiError(thrown)
    if (error.status >= 500) throw thrown
    http.state.error = error
    await writePage(
      http,
      ({ texts }) => ({
        title: texts.errorTitle,
        content: html`<p class="alert" role="alert">${sentenceOf(texts, error)}</p>`,
      }),
      error.status,
    )
  }
}

/**
 * Where a sign-in goes on. An answer to a request of ours is kept for the GET, to which the browser sends its cookie. One that answers
 * none proves nothing: the sign-in begins here instead.
 */
async function wayOn(deps: PageDeps, id: string, form: Record<string, string>): Promise<string> {
  const { RelayState: state = '' } = form
  try {
    await keepAnswer(deps, id, new URLSearchParams({ ...form, state }))
    return `callback/${id}/?${new URLSearchParams({ state })}`
  } catch (error) {
    if (error instanceof ApiError && error.code === 'state_not_valid') return `with/${id}/`
    throw error
  }
}

function lead(deps: PageDeps, http: Context, to: string): void {
  http.set('Cache-Control', 'no-store')
  http.status = 303
  http.set('Location', `${pathPrefix(deps.publicUrl())}/sign-in/${to}`)
}

function assertMethod(http: Context, ...allowed: string[]): void {
  if (allowed.includes(http.method)) return
  const Allow = allowed.join(', ')
  throw new ApiError(405, 'method_not_allowed', `This address answers ${Allow}.`, { headers: { Allow } })
}
