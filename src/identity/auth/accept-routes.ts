import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { linkToken } from '../../request/body/schemas.ts'
import { pathId } from '../../request/path-id.ts'
import { type Route, route } from '../../request/route.ts'
import { memberSchema } from '../../tenancy/members/member-schemas.ts'
import { creationOptions, newCredential } from '../passkeys/credential-schemas.ts'
import { chosenPassword, personName } from '../person.ts'
import { challengeUses } from '../rate-limits/limits.ts'
import { otpRequired, tokenPair } from '../sign-in/token-schemas.ts'
import { acceptInvitation, acceptReceived, beginToAccept } from './accept-invitation.ts'

/** A person who has joined. */
const accepted = {
  invitation_id: z.uuid(),
  tenant: z.object({ id: z.uuid(), name: z.string(), slug: z.string() }),
  member: memberSchema,
}

/** Routes by which people accept invitations. */
export const acceptRoutes = (deps: Deps): Route[] => [
  route({
    access: 'optional',
    method: 'POST',
    path: '/api/v1/invitations/accept',
    action: 'invitation:accept',
    tag: 'Invitations',
    summary: 'Accept an invitation',
    description:
      'If you are signed in, send only the token. If you are new, add names, and a password or the credential of a new passkey. A password signs you in; the passkey is asked for next.',
    body: z.object({
      token: linkToken,
      password: chosenPassword.optional(),
      credential: newCredential.optional(),
      first_name: personName.default(''),
      last_name: personName.meta({ example: 'Lovelace' }).default(''),
    }),
    status: 200,
    answer: z.object({ ...accepted, ...tokenPair.partial().shape, ...otpRequired.partial().shape }),
    refusals: [409],
    secret: true,
    handle: ({ caller, requestInfo, body }) => acceptInvitation(deps, caller, requestInfo, body),
  }),
  route({
    access: 'public',
    method: 'POST',
    path: '/api/v1/invitations/accept/options',
    tag: 'Invitations',
    summary: 'Begin to make a passkey for a new account',
    description:
      'Pass the answer to PublicKeyCredential.parseCreationOptionsFromJSON() and navigator.credentials.create(), then accept with the credential.',
    body: z.object({ token: linkToken }),
    status: 200,
    answer: creationOptions,
    refusals: [401, 403, 429],
    secret: true,
    before: ({ ip }) => deps.limiters.take(challengeUses(ip)),
    handle: ({ body }) => beginToAccept(deps, body.token),
  }),
  route({
    method: 'POST',
    path: '/api/v1/users/me/invitations/:id/accept',
    action: 'invitation:accept',
    tag: 'Invitations',
    summary: 'Accept an invitation to your address',
    description: 'Your address has to be verified. No token is needed.',
    status: 200,
    answer: z.object(accepted),
    refusals: [409],
    handle: ({ caller, params }) => acceptReceived(deps, caller, pathId(params.id)),
  }),
]
