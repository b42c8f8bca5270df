import type { Context } from 'koa'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { html } from '../../text/html.ts'
import { signOutBrowser } from '../browser-session/change-cookies.ts'
import { loginCookie } from '../browser-session/cookie.ts'
import { cookieOf } from '../browser-session/credentials.ts'
import { beginning } from './address.ts'
import type { Calls, PageDeps, SignInAnswer } from './calls.ts'
import { button, form, link, refusalOf } from './elements.ts'
import { forgetFlow } from './flow.ts'
import { afterFactor } from './password.ts'
import { nameOf, type Profile, profileOf } from './profile.ts'
import { go, inNameOf, page, type Shown, type SignInPage, signedIn, type Visit } from './visit.ts'

/** An invitation to the address of the person. */
interface Received {
  id: string
  tenant: Profile['current_tenant']
}

/** Pages for people who are signed in. */
export const sessionPages = (deps: PageDeps, calls: Calls): SignInPage[] => {
  const invitationsTo = async ({ http }: Visit) =>
    ((await calls.invitations(http)) as { results: Received[] }).results
  const waits = async ({ http }: Visit) => (await cookieOf(deps, http, loginCookie))?.pending_id != null

  return [
    {
      path: '',
      async show(visit) {
        const profile = await profileOf(calls, visit)
        if (profile)
          return visit.returnTo ? signedIn(visit) : signedInAs(visit, profile, await invitationsTo(visit))
        return (await waits(visit)) ? go('code') : beginning(deps, visit)
      },
    },
    {
      path: 'organisation',
      async show(visit) {
        const profile = await profileOf(calls, visit)
        return profile ? chooser(visit, profile) : go('')
      },
      async submit(visit) {
        const entered = calls.switchTenant(visit.http, { tenant_id: visit.form.tenant_id })
        const answer = await entered.catch(ifFactorDue).catch(ifSignedOut)
        return answer ? afterFactor(visit, calls, answer as SignInAnswer) : go('')
      },
    },
    {
      path: 'confirm-address',
      async show(visit) {
        const profile = await profileOf(calls, visit)
        return profile && !profile.email_verified ? confirmAddress(visit, profile) : go('')
      },
      async submit(visit) {
        await calls.mailVerification(visit.http)
        return go('confirm-address/sent')
      },
    },
    {
      path: 'confirm-address/sent',
      async show(visit) {
        const profile = await profileOf(calls, visit)
        return profile && !profile.email_verified ? confirmationSent(visit, profile) : go('')
      },
    },
    {
      path: 'sign-out',
      takesLate: true,
      async show(visit) {
        const profile = await profileOf(calls, visit)
        return profile ? signedInAs(visit, profile, []) : ended(visit)
      },
      async submit(visit) {
        await signOut(deps, calls, visit.http)
        forgetFlow(deps, visit.http)
        return ended(visit)
      },
    },
    {
      path: 'signed-out',
      show: (visit) =>
        page(
          visit.texts.signedOut.title,
          html`<p>${visit.texts.signedOut.lead}</p>
<p>${link(visit, '', visit.texts.signedOut.again)}</p>`,
        ),
    },
  ]
}

/** What an organisation answers that demands a second factor. */
function ifFactorDue(error: unknown): SignInAnswer {
  if (error instanceof ApiError && error.code === 'otp_required') return error.members
  throw error
}

/** There is no session any more. An organisation that asks for its connection says where. */
function ifSignedOut(error: unknown): null {
  if (error instanceof ApiError && error.status === 401 && error.code !== 'sso_required') return null
  throw error
}

/** After a sign-out: where the person came from, else the page that says so. */
const ended = ({ returnTo, texts }: Visit): Shown =>
  returnTo ? { kind: 'leave', to: returnTo, title: texts.signedOut.title } : go('signed-out')

/** Ends the session of the browser, and its cookies in any case. */
export async function signOut(deps: Deps, calls: Calls, http: Context): Promise<void> {
  await signOutBrowser(deps, http, () => calls.logOut(http))
}

function signedInAs(visit: Visit, profile: Profile, invitations: Received[]) {
  const { texts } = visit
  const { current_tenant: tenant, memberships, email, email_verified: isProven } = profile
  inNameOf(visit, tenant.id)
  return page(
    texts.signedIn.title,
    html`<p class="who"><span>${nameOf(profile)}</span> <small>${email} · ${tenant.name}</small></p>
${invitations.map(
  (one) =>
    html`<p class="who"><span>${texts.signedIn.invited(one.tenant.name)}</span> ${link(visit, `invitation/received/${one.id}`, texts.signedIn.seeInvitation)}</p>\n`,
)}${isProven ? null : html`<p class="who"><span>${texts.confirmAddress.isDue}</span> ${link(visit, 'confirm-address', texts.confirmAddress.title)}</p>\n`}${memberships.length > 1 ? html`<p>${link(visit, 'organisation', texts.signedIn.switch)}</p>` : null}
<p>${link(visit, 'applications', texts.connected.title)}</p>
${form(visit, 'sign-out', button(texts.signedIn.signOut, { quiet: true }))}`,
  )
}

const confirmAddress = (visit: Visit, { email }: Profile) =>
  page(
    visit.texts.confirmAddress.title,
    html`<p>${visit.texts.confirmAddress.lead(email)}</p>
${refusalOf(visit)}${form(visit, 'confirm-address', button(visit.texts.confirmAddress.send))}`,
  )

const confirmationSent = (visit: Visit, { email }: Profile) =>
  page(
    visit.texts.sent.title,
    html`<p>${visit.texts.confirmAddress.sent(email)}</p>
<p>${visit.texts.sent.notThere}</p>
<p class="aside">${link(visit, '', visit.texts.signedIn.title)}</p>`,
  )

function chooser(visit: Visit, { memberships, current_tenant: current }: Profile) {
  const { texts } = visit
  inNameOf(visit, current.id)
  const choices = memberships.map(
    ({ tenant }) =>
      html`<li>${button(tenant.id === current.id ? `${tenant.name} ✓` : tenant.name, {
        quiet: true,
        name: 'tenant_id',
        value: tenant.id,
      })}</li>\n`,
  )
  return page(
    texts.organisation.title,
    html`<p>${texts.organisation.lead}</p>
${refusalOf(visit)}${form(visit, 'organisation', html`<ul class="choices">${choices}</ul>`)}`,
  )
}
