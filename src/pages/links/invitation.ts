import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { type ReadInvitation, readInvitation } from '../../identity/auth/read-invitation.ts'
import { mailedLinks } from '../../messages/links/mailed-links.ts'
import { pathId } from '../../request/path-id.ts'
import { findLiveOffer, findLiveOfferTo } from '../../tenancy/invitations/join-by-invitation.ts'
import { type Html, html } from '../../text/html.ts'
import { type Calls, type SignInAnswer, unlessSignedOut } from '../sign-in/calls.ts'
import { button, form, nextStep, refusalOf, sentenceOf } from '../sign-in/elements.ts'
import { credentialOf, optionsPage } from '../sign-in/passkey.ts'
import { passkeyForm } from '../sign-in/passkey-button.ts'
import { afterFactor } from '../sign-in/password.ts'
import { nameOf, type Profile, profileOf } from '../sign-in/profile.ts'
import { nameFields, newPassword } from '../sign-in/register.ts'
import { signOut } from '../sign-in/session.ts'
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
export const invitationPages = (deps: Deps, calls: Calls): SignInPage[] => [
  ...byToken(deps, calls),
  received(deps, calls),
]

function byToken(deps: Deps, calls: Calls): SignInPage[] {
  async function show(visit: Visit): Promise<Shown> {
    const done = carryToken(visit, name) ?? endOf(visit)
    if (done) return done
    const token = tokenOf(visit, name)
    if (token === undefined) return incompleteCard(visit)
    const [offer, profile] = await Promise.all([
      findLiveOffer(deps, token).catch(refusalOnly),
      profileOf(calls, visit),
    ])
    if (offer instanceof ApiError) return failed({ ...visit, refusal: offer })
    const own = { path, carried: tokenField(token) }
    return showOffer(deps, visit, await readInvitation(deps, offer), profile, own)
  }

  async function accept(visit: Visit, isKnown: boolean, answer: Promise<unknown>): Promise<Shown> {
    const accepted = (await answer) as Accepted
    forgetToken(visit, name)
    if (deps.config.HOSTED_PAGES && accepted.otp_required) return afterFactor(visit, calls, accepted)
    if (!deps.config.HOSTED_PAGES) await signOut(deps, calls, visit.http)
    return joined(visit, accepted, isKnown)
  }

  return [
    {
      path,
      takesLate: true, // the form has the token, which has a time of its own
      show,
      async submit(visit) {
        const { token = '', step, password, first_name, last_name } = visit.form
        if (step === 'sign-out') {
          await signOut(deps, calls, visit.http)
          visit.keep({ registered: undefined })
          return go(path)
        }
        return (await profileOf(calls, visit))
          ? accept(visit, true, calls.acceptInvitation(visit.http, { token }))
          : accept(
              visit,
              false,
              calls.acceptAsNewcomer(visit.http, { token, password, first_name, last_name }),
            )
      },
    },
    {
      // A new person with a passkey in place of a password: it is asked for next.
      path: 'join',
      takesLate: true,
      show,
      submit(visit) {
        const { token = '', first_name, last_name } = visit.form
        const body = { token, credential: credentialOf(visit), first_name, last_name }
        return accept(visit, false, calls.acceptAsNewcomer(visit.http, body))
      },
    },
    {
      ...optionsPage('join', ({ http, form: { token = '' } }) => calls.beginToAccept(http, { token })),
      takesLate: true,
    },
  ]
}

/** An invitation to the verified address of a person who is signed in: they need not look for its mail. */
const received = (deps: Deps, calls: Calls): SignInPage => ({
  path: 'invitation/received/:id',
  async show(visit) {
    const profile = await profileOf(calls, visit)
    if (!profile) return go('')
    const done = endOf(visit)
    if (done) return done
    const { email, email_verified: emailVerified } = profile
    const { id = '' } = visit.params
    const offer = await findLiveOfferTo(deps, { email, emailVerified }, pathId(id)).catch(refusalOnly)
    if (offer instanceof ApiError) return failed({ ...visit, refusal: offer })
    const own = { path: `invitation/received/${id}`, carried: null }
    return showOffer(deps, visit, await readInvitation(deps, offer), profile, own)
  },
  async submit(visit) {
    const answer = calls.acceptReceived(visit.http, {}, visit.params)
    const accepted = (await unlessSignedOut(answer)) as Accepted | null
    return accepted ? joined(visit, accepted, true) : go('')
  },
})

/** Whether the invitation of a token can be accepted. */
export const isLive = async (deps: Deps, token: string | undefined): Promise<boolean> =>
  token !== undefined && !((await findLiveOffer(deps, token).catch(refusalOnly)) instanceof ApiError)

const refusalOnly = (error: unknown): ApiError => {
  if (error instanceof ApiError && error.status < 500) return error
  throw error
}

/** The form with which a person joins: its page, and the token that it carries. */
interface OwnForm {
  path: string
  carried: Html | null
}

function showOffer(
  deps: Deps,
  visit: Visit,
  invitation: ReadInvitation,
  profile: Profile | null,
  own: OwnForm,
): Shown {
  const texts = visit.texts.links.invitation
  const { tenantId, tenantName, inviter, roles } = invitation
  inNameOf(visit, tenantId)
  return page(
    texts.title(tenantName),
    html`<p>${texts.lead(inviter, roles)}</p>
${stepFor(deps, visit, invitation, profile, own)}`,
  )
}

/** What the person does next. */
function stepFor(
  deps: Deps,
  visit: Visit,
  { email, tenantName, hasAccount }: ReadInvitation,
  profile: Profile | null,
  { path, carried }: OwnForm,
): Html {
  const texts = visit.texts.links.invitation
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
)}
${passkeyForm(deps, visit, { path: 'join', words: texts.byPasskey, isNew: true, fields: html`${carried}${namesOfForm}` })}`
}

/** The names that are typed into the form beside. */
const namesOfForm = ['first_name', 'last_name'].map(
  (name) => html`<input type="hidden" name="${name}" value="" data-from="${name}">\n`,
)

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
