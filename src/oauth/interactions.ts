import type { Configuration } from 'oidc-provider'
import { nilUuid } from '../crypto/uuid.ts'
import { pathPrefix } from '../http/path-prefix.ts'
import { type Due, ownState } from './due.ts'
import type { Library, OidcContext } from './provider-types.ts'
import { organizationIn, ownClient } from './tenant-of-request.ts'

/** What the library asks a person for, and where. */
export const interactionsOf = (library: Library, issuer: string): Configuration['interactions'] => ({
  policy: policyOf(library),
  url: (ctx, { uid }) => pageOf(issuer, ctx, uid),
})

/** The prompts ask what `settle` found to be due. */
function policyOf(library: Library) {
  const { Check, Prompt } = library.interactionPolicy
  const due = (ctx: unknown): Due | null => {
    const { here, due } = ownState(ctx as OidcContext)
    return here ? due : { prompt: 'login', page: '' }
  }
  const prompt = (name: Due['prompt'], error: string, requestable = true) => {
    const isDue = (ctx: unknown) => due(ctx)?.prompt === name
    const details = (ctx: unknown) => {
      const found = due(ctx)
      return found && 'details' in found ? found.details : undefined
    }
    const check = new Check('due', `${name} is due`, error, isDue as never, details as never)
    const made = new Prompt({ name, requestable }, check)
    made.checks.remove(`${name}_prompt`)
    return made
  }
  return [
    prompt('denied', 'access_denied', false),
    prompt('login', 'login_required'),
    prompt('select_account', 'account_selection_required'),
    prompt('approval', 'interaction_required', false),
    prompt('consent', 'consent_required'),
  ]
}

/** The page that asks for what is due, and leads back to the request. */
function pageOf(issuer: string, ctx: OidcContext, uid: string): string {
  const { params } = ctx.oidc
  const { due, here } = ownState(ctx)
  const page = here ? (due?.page ?? '') : ''
  // The pages have the look of the client's tenant.
  const path = ctx.oidc.route === 'device_resume' ? 'device' : 'authorize'
  const own = ownClient(ctx)
  const organization = own.tenantId === nilUuid ? organizationIn(ctx.oidc) : own.tenantId
  const query = new URLSearchParams({
    return_to: `/oauth/${path}/${uid}`,
    ...(organization && { organization }),
  })
  for (const name of ['login_hint', 'ui_locales'])
    if (typeof params?.[name] === 'string') query.set(name, String(params[name]))
  return `${pathPrefix(issuer)}/sign-in/${page && `${page}/`}?${query}`
}
