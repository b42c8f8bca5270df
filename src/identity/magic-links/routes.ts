import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { bodyId, linkToken } from '../../request/body/schemas.ts'
import { type Route, route } from '../../request/route.ts'
import { emailAddress } from '../person.ts'
import { handOut } from '../sign-in/outcome.ts'
import { signedIn } from '../sign-in/token-schemas.ts'
import { confirmMagicLink } from './confirm-magic-link.ts'
import { magicLinkSent, requestMagicLink } from './request-magic-link.ts'

const tag = 'Sign-in'

export const magicLinkRoutes = (deps: Deps): Route[] => [
  route({
    access: 'public',
    method: 'POST',
    path: '/api/v1/auth/magic-link',
    tag,
    summary: 'Mail yourself a link to sign in',
    description:
      'The answer is the same whether the address has an account or not. Keep the nonce in the browser: the link works only ' +
      'with it. Needs MAGIC_LINK_ENABLED.',
    body: z.object({ email: emailAddress, tenant_id: bodyId.optional() }),
    status: 200,
    answer: z.object({
      message: z.literal(magicLinkSent),
      nonce: z
        .string()
        .meta({ description: 'For /api/v1/auth/magic-link/confirm/, with the token of the mail' }),
    }),
    refusals: [403, 429],
    secret: true,
    handle: ({ requestInfo, body }) => requestMagicLink(deps, requestInfo, body),
  }),
  route({
    access: 'public',
    method: 'POST',
    path: '/api/v1/auth/magic-link/confirm',
    tag,
    summary: 'Sign in with the token from the mail',
    description:
      'A wrong nonce uses the link up. The session is `aal1`; a code by e-mail is no second factor after it.',
    body: z.object({
      token: linkToken,
      nonce: z.string('Give the nonce as text.').min(1, 'Give the nonce.').max(500, 'This is not a nonce.'),
    }),
    status: 200,
    answer: signedIn,
    refusals: [403],
    secret: true,
    handle: async ({ requestInfo, body }) => handOut(await confirmMagicLink(deps, requestInfo, body)),
  }),
]
