import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { type ReadInvitation, readInvitation } from '../../identity/auth/read-invitation.ts'
import { mailedLinks } from '../../messages/links/mailed-links.ts'
import { findLiveOffer } from '../../tenancy/invitations/join-by-invitation.ts'
import { type Html, html } from '../../text/html.ts'
import { type Calls, type SignInAnswer, unlessSignedOut } from '../sign-in/calls.ts'
import { button, form, nextStep, refusalOf, sentenceOf } from '../sign-in/elements.ts'
import { afterFactor } from '../sign-in/password.ts'
import { nameFields, newPassword } from '../sign-in/register.ts'
import { nameOf, type Profile, signOut } from '../sign-in/session.ts'
import { go, inNameOf, page, type Shown, type SignInPage, type Visit } from '../sign-in/visit.ts'
import { card, closeStep, deadCard, incompleteCard, signInStep } from './cards.ts'
import { carryToken, forgetToken, tokenField, tokenOf } from './carried-token.ts'

const name = 'invitation'
const path = mailedLinks[name].page

interface Accepted extends SignInAnswer {
  tenant: { id: string; name: string }
}

/**
 * An invitation: says who invites whom to what. A person who is signed in with the invited address joins by one click; one
 * with an account signs in first, and comes back; a new one makes an account. All end signed in.
 */
export const invitationPage = (deps: Deps, calls: Calls): SignInPage => {
  const profileOf = async ({ http }: Visit) => (await unlessSignedOut(calls.profile(http))) as Profile | null

  return {
    path,
    takesLate: true, // the form has the token, which has a time of its own
    async show(visit) {
      const done = carryToken(visit, name) ?? endOf(visit)
      if (done) return done
      const token = tokenOf(visit, name)
      if (token === undefined) return incompleteCard(visit)
      const [invitation, profile] = await Promise.all([
        readInvitation(deps, token).catch(refusalOnly),
        profileOf(visit),
      ])
      if (invitation instanceof ApiError) return failed({ ...visit, refusal: invitation })
      inNameOf(visit, invitation.tenantId)
      return offer(visit, invitation, profile, token)
    },
    async submit(visit) {
      const { token = '', step, password, first_name, last_name } = visit.form
      if (step === 'sign-out') {
        await signOut(deps, calls, visit.http)
        visit.keep({ registered: undefined })
        return go(path)
      }
      const isKnown = (await profileOf(visit)) !== null
      const accepted = (await (isKnown
        ? calls.acceptInvitation(visit.http, { token })
        : calls.acceptAsNewcomer(visit.http, { token, password, first_name, last_name }))) as Accepted
      forgetToken(visit, name)
      if (deps.config.HOSTED_PAGES && accepted.otp_required) return afterFactor(visit, calls, accepted)
      if (!deps.config.HOSTED_PAGES) await signOut(deps, calls, visit.http)
      return joined(visit, accepted, isKnown)
    },
  }
}

/** Whether the invitation of a token can be accepted. */
export const isLive = async (deps: Deps, token: string | undefined): Promise<boolean> =>
  token !== undefined && !((await findLiveOffer(deps, token).catch(refusalOnly)) instanceof ApiError)

const refusalOnly = (error: unknown): ApiError => {
  if (error instanceof ApiError && error.status < 500) return error
  throw error
}

function offer(visit: Visit, invitation: ReadInvitation, profile: Profile | null, token: string): Shown {
  const texts = visit.texts.links.invitation
  const { tenantName, inviter, roles } = invitation
  return page(
    texts.title(tenantName),
    html`<p>${texts.lead(inviter, roles)}</p>
${stepFor(visit, invitation, profile, token)}`,
  )
}

/** What the person does next. */
function stepFor(
  visit: Visit,
  { email, tenantName, hasAccount }: ReadInvitation,
  profile: Profile | null,
  token: string,
): Html {
  const texts = visit.texts.links.invitation
  const carried = tokenField(token)
  if (profile?.email === email)
    return html`<p class="who"><span>${nameOf(profile)}</span> <small>${email}</small></p>
${refusalOf(visit)}${form(visit, path, html`${carried}${button(texts.join(tenantName))}`)}`
  if (profile) {
    const step = button(texts.signOut, { name: 'step', value: 'sign-out' })
    return html`<p>${texts.otherAddress(email, profile.email)}</p>
${form(visit, path, html`${carried}${step}`)}`
  }
  const invited = html`<p class="who"><span>${email}</span></p>`
  if (hasAccount) {
    visit.keep({ email })
    return html`${invited}
<p>${texts.hasAccount}</p>
${nextStep({ ...visit, returnTo: path }, 'password', texts.signIn)}`
  }
  return html`${invited}
${refusalOf(visit, 'password', 'first_name', 'last_name')}${form(
  visit,
  path,
  html`${carried}${nameFields(visit)}
${newPassword(visit)}${button(texts.join(tenantName))}`,
)}`
}

/** The card of an attempt to join that cannot be repeated; null while it can. */
function endOf(visit: Visit): Shown | null {
  const { texts, refusal } = visit
  if (refusal?.code === 'already_member')
    return card(
      texts.links.invitation.isMember.title,
      texts.links.invitation.isMember.lead,
      signInStep(visit, texts.continue),
    )
  return refusal && deadCard(visit, texts.links.invitation.dead, closeStep(visit))
}

const failed = (visit: Visit & { refusal: ApiError }): Shown =>
  endOf(visit) ?? card(visit.texts.errorTitle, sentenceOf(visit.texts, visit.refusal), closeStep(visit))

/** A member of several organisations goes on in the one that they joined. */
function joined(visit: Visit, { tenant }: Accepted, isKnown: boolean): Shown {
  const { texts } = visit
  const { title, lead, leadElsewhere, enter } = texts.links.invitation.done
  if (!visit.isHosted) return card(title(tenant.name), leadElsewhere, closeStep(visit))
  const step = isKnown
    ? form(visit, 'organisation', button(enter(tenant.name), { name: 'tenant_id', value: tenant.id }))
    : signInStep(visit, texts.continue)
  return card(title(tenant.name), lead, step)
}
