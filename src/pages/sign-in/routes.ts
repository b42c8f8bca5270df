import type { Context, Middleware } from 'koa'
import { ApiError } from '../../errors.ts'
import { asApiError } from '../../http/problem.ts'
import { dispatch, type Served } from '../../request/registry.ts'
import { type Html, html } from '../../text/html.ts'
import { cookieHashOf, loginCookie } from '../browser-session/cookie.ts'
import { invitationPages, isLive } from '../links/invitation.ts'
import { isLinkPage, linkPages } from '../links/link-pages.ts'
import { magicLinkPage, magicLinkScript } from '../links/magic-link.ts'
import { addressPage } from './address.ts'
import { nameTenant } from './brand.ts'
import type { Calls, PageDeps } from './calls.ts'
import { codePages } from './code.ts'
import { button, form, link, nextStep, pageUrl, sentenceOf } from './elements.ts'
import { isFormOf, readFlow } from './flow.ts'
import { forgotPages } from './forgot.ts'
import { otherWayPage } from './home-realm.ts'
import type { Look } from './layout.ts'
import { lookFiles } from './look-files.ts'
import { mailedLinkPages } from './mailed-link.ts'
import { visitOf } from './open-visit.ts'
import { passkeyPages } from './passkey.ts'
import { passwordPage } from './password.ts'
import { formReader, readForm, refuseForeignForms } from './read-form.ts'
import { registerPages } from './register.ts'
import { sessionPages } from './session.ts'
import { setUpPages } from './set-up.ts'
import { stepUpPages } from './step-up.ts'
import type { Shown, SignInPage, Visit } from './visit.ts'
import { files, write } from './write-page.ts'

/**
 * The pages where people sign in, below `/sign-in/`, and those of mailed links: HTML that works without scripts, made here.
 * What they do, they ask the routes of the API for.
 */
export function signInPages(deps: PageDeps, calls: Calls, more: readonly SignInPage[] = []): Middleware {
  const pages: SignInPage[] = [
    addressPage(deps),
    otherWayPage,
    ...passkeyPages(deps, calls),
    passwordPage(deps, calls),
    ...mailedLinkPages(deps, calls),
    ...codePages(deps, calls),
    ...setUpPages(deps, calls),
    ...stepUpPages(deps, calls),
    ...registerPages(deps, calls),
    ...forgotPages(calls),
    ...sessionPages(deps, calls),
    ...linkPages(deps, calls),
    ...invitationPages(deps, calls),
    magicLinkPage(deps, calls),
    ...more,
  ]
  const { style, script, look } = files(deps)
  const served: Served[] = pages.flatMap((one) => [
    { method: 'GET', path: pathOf(one), handle: showing(deps, look, one) },
    ...(one.submit
      ? [{ method: 'POST' as const, path: pathOf(one), handle: submitting(deps, look, one) }]
      : []),
    ...(one.takesForeign
      ? [{ method: 'POST' as const, path: pathOf(one), handle: takingForeign(deps, one) }]
      : []),
  ])
  served.push(
    ...[style, script, magicLinkScript].map(({ path, serve }) => ({
      method: 'GET' as const,
      path,
      handle: serve,
    })),
  )
  served.push(...lookFiles(deps))
  return inFolder(deps, look, dispatch(served))
}

const pathOf = ({ path }: SignInPage) => (path.startsWith('/') ? path : `/sign-in/${path}`)

/**
 * Whether a request is one for the pages. Without `HOSTED_PAGES` those of mailed links stay, and a browser that opened an
 * invitation signs in for it while it can be accepted.
 */
async function isServed(deps: PageDeps, http: Context): Promise<boolean> {
  if (isLinkPage(http.path)) return true
  if (!/^\/sign-in(\/|$)/i.test(http.path)) return false
  const isFile = /\.\w+$/.test(http.path)
  return deps.config.HOSTED_PAGES || isFile || isLive(deps, readFlow(deps, http)?.links?.invitation)
}

/** Errors of the pages are pages, too. */
const inFolder =
  (deps: PageDeps, look: Look, serve: Middleware): Middleware =>
  async (http, next) => {
    if (!(await isServed(deps, http))) return next()
    try {
      await serve(http, next)
    } catch (thrown) {
      const error = asApiError(thrown)
      http.state.error = error
      if (error.status >= 500)
        deps.log.error(
          { err: error.cause ?? thrown, request_id: http.state.requestInfo?.requestId },
          error.message,
        )
      const visit = visitOf(deps, http, http.state.form ?? {})
      http.set(error.headers)
      const content = html`<p class="alert" role="alert">${sentenceOf(visit.texts, error)}</p>
${wayOn(deps, visit, error)}`
      await write(http, look, visit, { title: visit.texts.errorTitle, content }, error.status)
    } finally {
      http.state.measuredAs = 'sign_in_page'
    }
  }

/** A session that may not read its own profile opens no page: its person signs out, or in with another address. */
function wayOn(deps: PageDeps, visit: Visit, { status, code }: ApiError): Html {
  const { http, texts } = visit
  const isShutOut = status === 403 && !isOfForm.has(code) && cookieHashOf(deps.config, http, loginCookie)
  if (isShutOut) {
    visit.keep({})
    return html`${form(visit, 'sign-out', button(texts.signedIn.signOut))}
<p class="aside">${link(visit, 'address', texts.code.other)}</p>`
  }
  return nextStep(visit, isLinkPage(http.path) ? http.path : '', texts.again)
}

const isOfForm = new Set(['form_expired', 'form_not_valid', 'cross_site_request'])

const showing =
  (deps: PageDeps, look: Look, { show }: SignInPage): Middleware =>
  async (http) => {
    const visit = visitOf(deps, http, {})
    await nameTenant(deps, visit)
    await answer(http, look, visit, await show(visit))
  }

const submitting =
  (deps: PageDeps, look: Look, { show, submit, takesLate }: SignInPage): Middleware =>
  async (http) => {
    refuseForeignForms(deps.publicUrl, http)
    const form = await readForm(http)
    http.state.form = form
    const visit = visitOf(deps, http, form)
    assertOwnForm(deps, visit, takesLate === true)
    await nameTenant(deps, visit)
    try {
      await answer(http, look, visit, await submit!(visit))
    } catch (thrown) {
      const refusal = asApiError(thrown)
      if (refusal.status >= 500) throw thrown
      http.state.error = refusal
      visit.refusal = refusal
      const shown = await show(visit)
      await answer(http, look, visit, shown)
      if (shown.kind === 'page') http.status = refusal.status === 401 ? 400 : refusal.status
    }
  }

const takingForeign =
  (deps: PageDeps, { takesForeign }: SignInPage): Middleware =>
  async (http) => {
    const visit = visitOf(deps, http, await readForeignForm(http))
    redirect(http, `${visit.prefix}${await takesForeign!(visit)}`)
  }

const readForeignForm = formReader(64 * 1024)

/** Refuses a form that another browser shows: that of a person who is to sign in as someone else. */
function assertOwnForm(
  deps: PageDeps,
  { flow, form: { form_token: token } }: Visit,
  takesLate: boolean,
): void {
  if (isFormOf(deps, flow.id, token)) return
  const isLate = flow.before !== undefined && isFormOf(deps, flow.before, token)
  if (isLate && takesLate) return
  if (isLate) throw tookTooLong()
  throw new ApiError(403, 'form_not_valid', 'This form is of another browser, or too old. Begin again.')
}

const tookTooLong = () =>
  new ApiError(403, 'form_expired', 'More than 15 minutes went by since this page was opened. Begin again.')

async function answer(http: Context, look: Look, visit: Visit, shown: Shown): Promise<void> {
  switch (shown.kind) {
    case 'page':
      visit.keep({}) // its forms have their time from now on
      await write(http, look, visit, shown, shown.status)
      break
    case 'data':
      http.set('Cache-Control', 'no-store')
      http.body = shown.body
      break
    case 'go':
      redirect(http, pageUrl(visit, shown.to))
      break
    case 'leave': {
      const to = `${visit.prefix}${shown.to}`
      if (http.method === 'POST') await write(http, look, visit, leading(visit, to, shown))
      else redirect(http, to)
      break
    }
    case 'abroad':
      if (http.method === 'POST') await write(http, look, visit, leading(visit, shown.to, shown))
      else redirect(http, shown.to)
  }
}

/** Browsers check `form-action` along all redirects after a form, so what may lead to another site is no redirect. */
const leading = (
  { texts }: Visit,
  to: string,
  { title, lead, aside }: { title?: string; lead?: string; aside?: Html },
) => ({
  title: title ?? texts.leave.title,
  content: html`<p>${lead ?? texts.leave.lead}</p>\n<p><a class="button" href="${to}">${texts.continue}</a></p>\n${aside ?? null}`,
  refresh: to,
})

function redirect(http: Context, to: string): void {
  http.set('Cache-Control', 'no-store')
  http.status = 303
  http.set('Location', to)
}
