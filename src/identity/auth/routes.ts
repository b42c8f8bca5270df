import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { publicRoute, type Route, route } from '../../platform/http/route.ts'
import { bodyId, message } from '../../platform/http/schemas.ts'
import { deviceTypes } from '../otp/channels.ts'
import { chosenPassword, emailAddress, personName, presentedPassword } from '../person.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'
import { refresh } from './refresh.ts'
import { register } from './register.ts'
import { switchTenant } from './switch-tenant.ts'

const tokenPair = z
  .object({
    access: z.string().meta({ description: 'JWT: send it as Authorization: Bearer <access>' }),
    refresh: z.string().meta({ description: 'JWT: single use, for /api/v1/auth/refresh/' }),
  })
  .meta({ id: 'TokenPair' })

const otpRequired = z
  .object({
    otp_required: z.literal(true),
    temporary_token: z.string().meta({ description: 'For POST /api/v1/auth/otp/verify/, as Bearer' }),
    expires_in: z.int(),
    methods: z.array(z.enum(deviceTypes)).meta({ description: 'What can be used now' }),
  })
  .meta({ id: 'OtpRequired' })

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

export const authRoutes = (deps: Deps): Route[] => [
  publicRoute({
    method: 'POST',
    path: '/api/v1/auth/register',
    tag: 'Sign-in',
    summary: 'Register a person, with a tenant of their own',
    body: z.object({
      email: emailAddress,
      password: chosenPassword,
      first_name: personName.default(''),
      last_name: personName.default(''),
    }),
    status: 201,
    answer: z.object({ id: z.uuid(), email: z.string() }),
    secret: true,
    handle: ({ origin, body }) => register(deps, origin, body),
  }),
  publicRoute({
    method: 'POST',
    path: '/api/v1/auth/login',
    tag: 'Sign-in',
    summary: 'Log in with address and password',
    body: z.object({ email: loginAddress(), password: presentedPassword, tenant_id: bodyId.optional() }),
    status: 200,
    answer: z.union([tokenPair, otpRequired]),
    refusals: [401, 403],
    secret: true,
    handle: ({ origin, body }) => login(deps, origin, body),
  }),
  publicRoute({
    method: 'POST',
    path: '/api/v1/auth/refresh',
    tag: 'Sign-in',
    summary: 'Exchange a refresh token for a new pair',
    description:
      'Every use answers a new refresh token. A repeat within 10 s answers the same successor; a later one ends the session.',
    body: refreshBody,
    status: 200,
    answer: tokenPair,
    refusals: [401, 403],
    secret: true,
    handle: ({ origin, body }) => refresh(deps, origin, body),
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/switch-tenant',
    action: 'session:switch',
    tag: 'Sign-in',
    summary: 'Get a pair for another tenant of yours',
    body: z.object({ tenant_id: bodyId }),
    status: 200,
    answer: tokenPair,
    secret: true,
    handle: ({ actor, body }) => switchTenant(deps, actor, body.tenant_id),
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/logout',
    action: 'session:logout',
    tag: 'Sign-in',
    summary: 'End this session',
    status: 200,
    answer: message('Logged out'),
    handle: async ({ actor }) => {
      await logout(deps, actor)
      return { message: 'Logged out' as const }
    },
  }),
]

/** An address that cannot be one of ours goes the way of an unknown one: same status, same time. */
function loginAddress() {
  return z
    .string('Give the address as text.')
    .min(1, 'Give the address.')
    .max(1_000, 'An address may have 254 characters at most.')
    .transform((text) => emailAddress.safeParse(text).data ?? '')
    .meta({ example: 'ada@example.com' })
}
