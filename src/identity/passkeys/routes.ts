import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { listing, pageAndCount, pageOf } from '../../lists/lists.ts'
import { bodyId } from '../../request/body/schemas.ts'
import { pathId } from '../../request/path-id.ts'
import { type Route, route } from '../../request/route.ts'
import { repeatedPassword } from '../otp/bodies.ts'
import { removeDevice } from '../otp/delete-device.ts'
import { verifiedSchema } from '../otp/device-schemas.ts'
import { challengeUses } from '../rate-limits/limits.ts'
import { handOut } from '../sign-in/outcome.ts'
import { signedIn } from '../sign-in/token-schemas.ts'
import { beginRegistration } from './begin-registration.ts'
import {
  creationOptions,
  newCredential,
  passkeyName,
  passkeySchema,
  requestOptions,
  toJsonPasskey,
  usedCredential,
} from './credential-schemas.ts'
import { registerPasskey } from './register-passkey.ts'
import { renamePasskey } from './rename-passkey.ts'
import { beginPasskeySignIn, signInWithPasskey } from './sign-in-with-passkey.ts'
import { countPasskeys, listPasskeys, lockPasskey, passkeyList } from './store.ts'
import { beginPasskeyVerification, verifyPasskey } from './verify-passkey.ts'

const tag = 'Passkeys'

const passkeys = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/auth/passkeys',
    list: passkeyList,
    rows: (read, { caller: { userId } }, page) =>
      pageAndCount(listPasskeys(read, userId, page), countPasskeys(read, userId, page)),
    show: toJsonPasskey,
  })

export const passkeyRoutes = (deps: Deps): Route[] => [
  route({
    method: 'POST',
    path: '/api/v1/auth/passkeys/registration',
    action: 'passkey:create',
    tag,
    summary: 'Begin to register a passkey',
    description:
      'Pass the answer to PublicKeyCredential.parseCreationOptionsFromJSON() and navigator.credentials.create().',
    body: z.object({ current_password: repeatedPassword }),
    status: 200,
    answer: creationOptions,
    refusals: [409],
    secret: true,
    handle: ({ caller, body }) => beginRegistration(deps, caller, body.current_password),
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/passkeys',
    action: 'passkey:create',
    tag,
    summary: 'Register a passkey',
    body: z.object({ name: passkeyName.default('Passkey'), credential: newCredential }),
    status: 201,
    answer: passkeySchema,
    refusals: [409],
    handle: async ({ caller, body }) => toJsonPasskey(await registerPasskey(deps, caller, body)),
  }),
  route({
    method: 'GET',
    action: 'passkey:list',
    tag,
    summary: 'List your passkeys',
    status: 200,
    answer: pageOf(passkeySchema),
    ...passkeys(deps),
  }),
  route({
    method: 'PATCH',
    path: '/api/v1/auth/passkeys/:id',
    action: 'passkey:update',
    tag,
    summary: 'Rename one of your passkeys',
    body: z.object({ name: passkeyName }),
    status: 200,
    answer: passkeySchema,
    load: (tx, { caller, params }) => lockPasskey(tx, caller.userId, pathId(params.id)),
    resource: (passkey, { caller }) => ({
      type: 'passkey',
      id: passkey.id,
      ownerId: caller.userId,
      fields: toJsonPasskey(passkey),
    }),
    act: async (tx, { caller, body }, passkey) =>
      toJsonPasskey(await renamePasskey(tx, deps, caller, passkey, body.name)),
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/auth/passkeys/:id',
    action: 'passkey:delete',
    tag,
    summary: 'Delete one of your passkeys',
    status: 204,
    answer: null,
    refusals: [409],
    handle: ({ caller, params }) => removeDevice(deps, caller, pathId(params.id), { only: 'passkey' }),
  }),
  route({
    access: 'public',
    method: 'POST',
    path: '/api/v1/auth/passkeys/login/options',
    tag,
    summary: 'Begin to sign in with a passkey',
    description:
      'Pass the answer to PublicKeyCredential.parseRequestOptionsFromJSON() and navigator.credentials.get().',
    status: 200,
    answer: requestOptions,
    refusals: [403, 429],
    secret: true,
    before: ({ ip }) => deps.limiters.take(challengeUses(ip)),
    handle: () => beginPasskeySignIn(deps),
  }),
  route({
    access: 'public',
    method: 'POST',
    path: '/api/v1/auth/passkeys/login',
    tag,
    summary: 'Sign in with a passkey',
    description: 'The session is `aal2`: a passkey needs no second factor, unless it does not count yet.',
    body: z.object({ credential: usedCredential, tenant_id: bodyId.optional() }),
    status: 200,
    answer: signedIn,
    refusals: [403, 429],
    secret: true,
    handle: async ({ requestInfo, body: { credential, tenant_id: tenantId = null } }) =>
      handOut(await signInWithPasskey(deps, requestInfo, { credential, tenantId })),
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/passkeys/verify/options',
    action: 'passkey:verify',
    tag,
    summary: 'Begin to show a passkey as a second factor',
    status: 200,
    answer: requestOptions,
    refusals: [404],
    secret: true,
    handle: ({ caller }) => beginPasskeyVerification(deps, caller),
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/passkeys/verify',
    action: 'passkey:verify',
    tag,
    summary: 'Show a passkey as a second factor',
    description: 'With a temporary token the answer has the tokens of the session, as that of `otp/verify`.',
    body: z.object({ credential: usedCredential }),
    status: 200,
    answer: verifiedSchema,
    secret: true,
    handle: ({ caller, body }) => verifyPasskey(deps, caller, body.credential),
  }),
]
