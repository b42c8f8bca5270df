import { passkeyInvalid } from '../../identity/passkeys/ceremony.ts'
import { addressForm } from './address.ts'
import type { Calls, PageDeps, SignInAnswer } from './calls.ts'
import { codeForm, codeShown } from './code.ts'
import { afterFactor } from './password.ts'
import { data, go, type Shown, type SignInPage, type Visit } from './visit.ts'

/** What the script of a page asks for, and the form that it posts: the answer to a credential is a page. */
export const passkeyPages = (deps: PageDeps, calls: Calls): SignInPage[] => [
  {
    path: 'passkey',
    show: (visit) => addressForm(deps, visit),
    async submit(visit) {
      const answer = await calls.usePasskey(visit.http, { credential: credentialOf(visit) })
      return afterFactor(visit, calls, answer as SignInAnswer)
    },
  },
  optionsPage('passkey', (visit) => calls.passkeyOptions(visit.http)),
  {
    path: 'code/passkey',
    show: (visit) => codeForm(deps, visit),
    async submit(visit) {
      const answer = await calls.showPasskey(visit.http, { credential: credentialOf(visit) })
      return codeShown(visit, answer as SignInAnswer)
    },
  },
  optionsPage('code/passkey', (visit) => calls.ownPasskeyOptions(visit.http)),
]

export const optionsPage = (path: string, optionsFor: (visit: Visit) => Promise<unknown>): SignInPage => ({
  path: `${path}/options`,
  show: () => go(''),
  submit: async (visit): Promise<Shown> => data((await optionsFor(visit)) as object),
})

/** The credential that the script put in the form. Throws 400 `passkey_invalid`. */
export function credentialOf({ form }: Visit): unknown {
  try {
    return JSON.parse(form.credential ?? '')
  } catch {
    throw passkeyInvalid()
  }
}
