import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { bodyId, linkToken, message } from '../../request/body/schemas.ts'
import { type Route, route } from '../../request/route.ts'
import { chosenPassword, emailAddress, personName, presentedPassword } from '../person.ts'
import { login } from '../sign-in/login.ts'
import { handOut, renewed } from '../sign-in/outcome.ts'
import { refresh } from '../sign-in/refresh.ts'
import { switchTenant } from '../sign-in/switch-tenant.ts'
import { signedIn, tokenPair } from '../sign-in/token-schemas.ts'
import { changePassword } from './change-password.ts'
import { confirmPasswordReset } from './confirm-password-reset.ts'
import { logout, logoutAll } from './logout.ts'
import { register } from './register.ts'
import { requestPasswordReset, resetSent } from './request-password-reset.ts'

const refreshBody = z
  .object({
    refresh: z.string('Give the token as text.').optional(),
    refresh_token: z.string('Give the token as text.').optional(),
  })
  .transform(({ refresh: token, refresh_token: alias }, context) => {
    const given = token ?? alias
    if (given !== undefined) return given
    context.addIssue({ code: 'custom', path: ['refresh'], message: 'Give the refresh token.' })
    return z.NEVER
  })
  .meta({
    override: {
      type: 'object',
      required: ['refresh'],
      properties: { refresh: { type: 'string', description: 'The refresh token' } },
    },
  })

const revokeKeys = z
  .boolean('Say true or false.')
  .default(false)
  .meta({ description: 'Also revoke your API keys, in all tenants' })

export const authRoutes = (deps: Deps): Route[] => [
  route({
    access: 'public',
    method: 'POST',
    path: '/api/v1/auth/register',
    tag: 'Sign-in',
    summary: 'Register a person, with a tenant of their own',
    body: z.object({
      email: emailAddress,
      password: chosenPassword,
      first_name: personName.default(''),
      last_name: personName.meta({ example: 'Lovelace' }).default(''),
      invitation_token: linkToken
        .optional()
        .meta({ description: 'Joins the inviting tenant instead of creating a tenant of your own' }),
    }),
    status: 201,
    answer: z.object({ id: z.uuid(), email: z.string() }),
    refusals: [403, 429],
    secret: true,
    handle: ({ requestInfo, body }) => register(deps, requestInfo, body),
  }),
  route({
    access: 'public',
    method: 'POST',
    path: '/api/v1/auth/login',
    tag: 'Sign-in',
    summary: 'Sign in with address and password',
    body: z.object({ email: loginAddress(), password: presentedPassword, tenant_id: bodyId.optional() }),
    status: 200,
    answer: signedIn,
    refusals: [401, 403, 429],
    secret: true,
    handle: async ({ requestInfo, body }) => handOut(await login(deps, requestInfo, body)),
  }),
  route({
    access: 'public',
    method: 'POST',
    path: '/api/v1/auth/refresh',
    tag: 'Sign-in',
    summary: 'Exchange a refresh token for a new pair',
    description:
      'Each use returns a new refresh token. A repeat within 10 s returns the same new token; a later repeat ends the session.',
    body: refreshBody,
    status: 200,
    answer: tokenPair,
    refusals: [401, 403, 429],
    secret: true,
    handle: async ({ requestInfo, body }) => handOut(await refresh(deps, requestInfo, body)),
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/switch-tenant',
    action: 'session:switch',
    tag: 'Sign-in',
    summary: 'Get tokens for another of your tenants',
    description:
      'Your present tokens remain valid for their own tenant. Send your newest refresh token along: then the new tokens last as long as those, and for the tenant you are in they replace them. Without it they end after 12 hours, and an access token from before a change of the password gets none: refresh it first. A session has at most 20 pairs of tokens; of those that end first, the least recently used pair ends.',
    body: z.object({
      tenant_id: bodyId,
      refresh: z
        .string('Give the token as text.')
        .optional()
        .meta({ description: 'Your newest refresh token, of the same pair as your access token or later' }),
    }),
    status: 200,
    answer: tokenPair,
    secret: true,
    handle: async ({ caller, body: { tenant_id: tenantId, refresh } }) =>
      handOut(await switchTenant(deps, caller, { tenantId, refresh })),
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/logout',
    action: 'session:logout',
    tag: 'Sign-in',
    summary: 'End this session',
    status: 200,
    answer: message('Logged out'),
    handle: async ({ caller }) => {
      await logout(deps, caller)
      return { message: 'Logged out' as const }
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/logout-all',
    action: 'session:logout',
    ofPerson: true,
    tag: 'Sign-in',
    summary: 'End all your sessions, this one included',
    description:
      'Passkeys and API keys stay, and a mail says how many; `revoke_keys` revokes the API keys, in all tenants.',
    body: z.object({ revoke_keys: revokeKeys }),
    status: 200,
    answer: message('Logged out'),
    handle: async ({ caller, body }) => {
      await logoutAll(deps, caller, body.revoke_keys)
      return { message: 'Logged out' as const }
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/password/change',
    action: 'password:change',
    tag: 'Passwords',
    summary: 'Change your password',
    description:
      'Ends your other sessions, and of this one the tokens that other tenant switches gave, and sends you a mail. Passkeys and API keys stay; `revoke_keys` revokes the API keys, in all tenants.',
    body: z.object({
      current_password: presentedPassword,
      new_password: chosenPassword,
      revoke_keys: revokeKeys,
    }),
    status: 200,
    answer: message('Password changed'),
    secret: true,
    handle: async ({ caller, body }) => {
      await changePassword(deps, caller, body)
      return handOut(renewed, { message: 'Password changed' })
    },
  }),
  route({
    access: 'public',
    method: 'POST',
    path: '/api/v1/auth/password/reset',
    tag: 'Passwords',
    summary: 'Mail yourself a link to choose a new password',
    description: 'The answer is the same whether the address has an account or not.',
    body: z.object({ email: emailAddress }),
    status: 200,
    answer: message(resetSent),
    refusals: [429],
    secret: true,
    handle: ({ requestInfo, body }) => requestPasswordReset(deps, requestInfo, body.email),
  }),
  route({
    access: 'public',
    method: 'POST',
    path: '/api/v1/auth/password/reset/confirm',
    tag: 'Passwords',
    summary: 'Choose a new password with the token from the mail',
    description: 'Ends all your sessions, verifies the address and lifts its lock. Sign in afterwards.',
    body: z.object({ token: linkToken, password: chosenPassword }),
    status: 200,
    answer: message('Password changed'),
    secret: true,
    handle: ({ requestInfo, body }) => confirmPasswordReset(deps, requestInfo, body),
  }),
]

/** An address that no account can have is treated like an unknown one: same status, same time. */
function loginAddress() {
  return z
    .string('Give the address as text.')
    .min(1, 'Give the address.')
    .max(1_000, 'An address may have 254 characters at most.')
    .transform((text) => emailAddress.safeParse(text).data ?? '')
    .meta({ example: 'ada@example.com' })
}
