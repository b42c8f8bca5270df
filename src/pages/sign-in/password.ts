import { ApiError } from '../../errors.ts'
import { html } from '../../text/html.ts'
import type { Calls, SignInAnswer } from './calls.ts'
import { button, field, form, link, refusalOf } from './elements.ts'
import { go, page, type Shown, type SignInPage, signedIn, type Visit } from './visit.ts'

/** Asks for the password of the address that was typed. */
export const passwordPage = (calls: Calls): SignInPage => ({
  path: 'password',
  show: passwordForm,
  async submit(visit) {
    const { email } = visit.flow
    if (!email) return go('')
    const { password = '' } = visit.form
    return afterFactor(visit, calls, (await calls.logIn(visit.http, { email, password })) as SignInAnswer)
  },
})

function passwordForm(visit: Visit): Shown {
  const { texts, flow } = visit
  if (!flow.email) return go('')
  return page(
    texts.password.title,
    html`<p class="who"><span>${flow.email}</span> ${link(visit, 'address', texts.change)}</p>
${refusalOf(visit, 'password')}${form(
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
<p class="aside">${link(visit, 'forgot', texts.password.forgot)}</p>`,
  )
}

/**
 * Where a sign-in goes on. A code is mailed at once where no other factor can be shown: the person would have to press a
 * button for it. Without any factor, one is set up.
 */
export async function afterFactor(
  visit: Visit,
  calls: Pick<Calls, 'mailCode'>,
  { otp_required: isDue, methods = [] }: SignInAnswer,
): Promise<Shown> {
  if (!isDue) return signedIn(visit)
  if (methods.length === 0) return go('set-up')
  if (methods.length === 1 && methods[0] === 'email') await calls.mailCode(visit.http).catch(unlessRefused)
  return go('code')
}

/** A refusal, such as too many mails, is shown when the person asks for a code themselves. */
function unlessRefused(error: unknown): void {
  if (!(error instanceof ApiError && error.status < 500)) throw error
}
