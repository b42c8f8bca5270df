import { notFound } from '../../errors.ts'
import { authorizeUses } from '../../identity/rate-limits/limits.ts'
import { requestIn } from '../../pages/sign-in/brand.ts'
import type { Calls, PageDeps } from '../../pages/sign-in/calls.ts'
import { button, form, nextStep, refusalOf } from '../../pages/sign-in/elements.ts'
import { otherWay } from '../../pages/sign-in/home-realm.ts'
import { inNameOf, page, type Shown, type SignInPage, type Visit } from '../../pages/sign-in/visit.ts'
import { html } from '../../text/html.ts'
import { callbackOf } from '../connections/addresses.ts'
import { noteSignIn } from '../connections/sign-ins/note-sign-in.ts'
import { testPage } from '../connections/test-page.ts'
import { openState } from '../connections/try-state.ts'
import { findUpstream } from '../find-upstream.ts'
import { beginFlow, keepAnswer, takeAnswer } from '../flows.ts'
import { type Upstream, UpstreamError } from '../upstream.ts'
import { heldPage } from './held-page.ts'
import { browsersOf, settled } from './settled.ts'

/** The pages of a sign-in with another provider, and of a try of a connection. */
export const providerPages = (deps: PageDeps, calls: Calls): SignInPage[] => [
  withPage(deps),
  callbackPage(deps, calls),
  heldPage(deps, calls),
]

/**
 * Leads to the upstream: at once by a button of our own pages, or to a connection for an application of its tenant; else by its own
 * button, so that no other site begins a sign-in. A tenant names the address of its connection, and a link can lead here after a
 * password was typed.
 */
const withPage = (deps: PageDeps): SignInPage => ({
  path: 'with/:id',
  async show(visit) {
    const upstream = await upstreamOf(deps, visit.params.id)
    const { tenantId } = upstream
    const isOurs =
      tenantId === null
        ? visit.http.get('sec-fetch-site') === 'same-origin'
        : tenantId === visit.tenantId && (await requestIn(deps, visit)) !== null
    if (tenantId !== null) inNameOf(visit, tenantId)
    if (!visit.refusal && isOurs) return begin(deps, visit, upstream)
    const { goOn, goOnLead } = visit.texts.provider
    return page(
      goOn(upstream.name),
      html`<p>${goOnLead(upstream.name)}</p>
${refusalOf(visit)}${form(
  visit,
  `with/${upstream.id}`,
  html`${asksFresh(visit) ? html`<input type="hidden" name="max_age" value="0">\n` : null}${button(visit.texts.continue)}`,
)}${tenantId === null ? null : otherWay(visit)}`,
    )
  },
  submit: async (visit) => begin(deps, visit, await upstreamOf(deps, visit.params.id)),
})

/** Whether the upstream is to ask for a new sign-in: an address of ours says so as OpenID Connect does. */
const asksFresh = ({ form, http }: Visit): boolean => (form.max_age ?? http.query.max_age) === '0'

async function begin(deps: PageDeps, visit: Visit, upstream: Upstream): Promise<Shown> {
  const { http, texts, returnTo } = visit
  await deps.limiters.take(authorizeUses(http.state.requestInfo.ip))
  visit.keep({ heldBy: undefined, heldToken: undefined })
  const ofTenant = upstream.tenantId !== null
  try {
    const request = await requestIn(deps, visit)
    const isFresh = asksFresh(visit) || request?.isFresh === true
    const loginHint = ofTenant ? visit.flow.email || request?.loginHint : undefined
    const to = await beginFlow(deps, upstream, { browser: visit.flow.id, returnTo, isFresh, loginHint })
    const { leaving, leavingLead: lead } = texts.provider
    return {
      kind: 'abroad',
      to,
      title: leaving(upstream.name),
      lead,
      ...(ofTenant && { aside: otherWay(visit) }),
    }
  } catch (error) {
    return refusalOfUpstream(deps, visit, upstream, error)
  }
}

/** Takes the answer of an upstream. */
function callbackPage(deps: PageDeps, calls: Calls): SignInPage {
  const tried = testPage(deps)
  return {
    path: 'callback/:id',
    async show(visit) {
      const { http, params } = visit
      const { id = '' } = params
      const query = new URLSearchParams(http.querystring)
      if (openState(deps, id, query.get('state') ?? '')) return tried.show(visit)
      const taken = await takeAnswer(deps, { provider: id, browsers: browsersOf(visit), query })
      visit.returnTo = taken.returnTo
      const upstream = await upstreamOf(deps, id)
      try {
        const { id: flowId, returnTo: _, ...answer } = taken
        const said = await upstream.finish({
          ...answer,
          redirectUri: callbackOf(deps, id),
          at: deps.clock(),
        })
        return await settled(deps, calls, visit, { flowId, upstream, said, madeId: null })
      } catch (error) {
        return refusalOfUpstream(deps, visit, upstream, error)
      }
    },
    async takesForeign({ form: fields, params }) {
      const { id = '' } = params
      const parameters = new URLSearchParams(fields)
      const state = parameters.get('state') ?? ''
      const kept = openState(deps, id, state) ? parameters : new URLSearchParams({ state })
      if (kept !== parameters) await keepAnswer(deps, id, parameters)
      return `/sign-in/callback/${encodeURIComponent(id)}/?${kept}`
    },
  }
}

async function upstreamOf(deps: PageDeps, id = ''): Promise<Upstream> {
  const upstream = await findUpstream(deps, id)
  if (!upstream) throw notFound()
  return upstream
}

const statuses = { denied: 403, unreachable: 503, refused: 400, undated: 400 } as const

/** What an upstream said or did wrong: people read plain words, and the log has the reason. Throws what is not its fault. */
async function refusalOfUpstream(
  deps: PageDeps,
  visit: Visit,
  upstream: Upstream,
  error: unknown,
): Promise<Shown> {
  if (!(error instanceof UpstreamError)) throw error
  const { code, message } = error
  const { id, name, tenantId } = upstream
  await noteSignIn(deps, upstream, null, { error })
  const { requestId } = visit.http.state.requestInfo
  deps.log.warn(
    { provider: id, fault: code, reason: message, request_id: requestId },
    'a sign-in with another provider failed',
  )
  const { fails, faults, back } = visit.texts.provider
  const content = html`<p class="alert" role="alert">${faults[code](name)}</p>\n${nextStep(visit, '', back)}${tenantId === null ? null : otherWay(visit)}`
  return { kind: 'page', title: fails(name), content, status: statuses[code] }
}
