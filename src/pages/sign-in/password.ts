import { readAsSystem } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { requiresSso } from '../../identity/sign-in/realm-store.ts'
import { leadsHere } from '../../messages/links/mailed-links.ts'
import { html } from '../../text/html.ts'
import type { Calls, SignInAnswer } from './calls.ts'
import { button, field, form, link, refusalOf } from './elements.ts'
import { go, page, type Shown, type SignInPage, signedIn, type Visit } from './visit.ts'

/** Asks for the password of the address that was typed. */
export const passwordPage = (deps: Deps, calls: Calls): SignInPage => ({
  path: 'password',
  show: (visit) => passwordForm(deps, visit),
  async submit(visit) {
    const { email } = visit.flow
    if (!email) return go('')
    const { password = '' } = visit.form
    visit.keep({ wantsOtherWay: undefined })
    const tenant = await tenantToEnter(deps, visit)
    const answer = await calls.logIn(visit.http, { email, password, ...tenant })
    return afterFactor(visit, calls, answer as SignInAnswer)
  },
})

/**
 * The tenant of an application, where it has its members sign in by a connection: it refuses a password at once, except an owner's. All
 * others are entered once the person is known.
 */
async function tenantToEnter({ db }: Deps, { tenantId }: Visit): Promise<{ tenant_id?: string }> {
  if (tenantId === null) return {}
  const isRequired = await readAsSystem(db, reason, (read) => requiresSso(read, tenantId))
  return isRequired ? { tenant_id: tenantId } : {}
}

const reason = 'a sign-in asks what an organisation requires before its person is known'

/** Asks for the password, or offers a link instead: for any address, so that it does not tell which are known. */
export function passwordForm(deps: Deps, visit: Visit): Shown {
  const { texts, flow } = visit
  if (!flow.email) return go('')
  const who = html`<p class="who"><span>${flow.email}</span> ${link(visit, 'address', texts.change)}</p>\n`
  if (visit.refusal?.code === 'sso_required')
    return page(texts.address.title, html`${who}${refusalOf(visit)}`)
  return page(
    texts.password.title,
    html`${who}${refusalOf(visit, 'password')}${form(
      visit,
      'password',
      html`<input type="hidden" name="email" value="${flow.email}" autocomplete="username">
${field(visit, {
  name: 'password',
  label: texts.password.label,
  type: 'password',
  autocomplete: 'current-password',
  more: html`maxlength="1024" autofocus`,
})}${button(texts.address.title)}`,
    )}
${mailsLinks(deps) ? form(visit, 'mailed-link', button(texts.mailedLink.send, { quiet: true })) : null}
<p class="aside">${link(visit, 'forgot', texts.password.forgot)}</p>`,
  )
}

/** Whether the pages mail links to sign in: a link to a page of an application signs in there, not here. */
export const mailsLinks = ({ config }: Pick<Deps, 'config'>): boolean =>
  config.MAGIC_LINK_ENABLED && leadsHere(config, 'magic_link')

/**
 * Where a sign-in goes on. A code is mailed at once where no other factor can be shown: the person would have to press a
 * button for it. Without any factor, one is set up.
 */
export async function afterFactor(
  visit: Visit,
  calls: Pick<Calls, 'mailCode'>,
  { otp_required: isDue, methods = [] }: SignInAnswer,
): Promise<Shown> {
  visit.keep({ registered: undefined, isCodeMailed: false })
  if (!isDue) return signedIn(visit)
  if (methods.length === 0) return go('set-up')
  if (methods.length === 1 && methods[0] === 'email')
    visit.keep({ isCodeMailed: await calls.mailCode(visit.http).then(() => true, unlessRefused) })
  return go('code')
}

/** A refusal, such as too many mails, is shown when the person asks for a code themselves. */
function unlessRefused(error: unknown): false {
  if (error instanceof ApiError && error.status < 500) return false
  throw error
}
