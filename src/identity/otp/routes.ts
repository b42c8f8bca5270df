import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { listing, pageAndCount, pageOf } from '../../lists/lists.ts'
import { mailedLink } from '../../request/mailed-link.ts'
import { pathId } from '../../request/path-id.ts'
import { type Route, route } from '../../request/route.ts'
import { handOut } from '../sign-in/outcome.ts'
import { confirmBody, repeatedPassword, verifyBody } from './bodies.ts'
import { confirmTotp } from './confirm-totp.ts'
import { removeDevice } from './delete-device.ts'
import { deviceSchema, pair, toJsonDevice, verifiedSchema } from './device-schemas.ts'
import { generateRecoveryCodes } from './generate-recovery-codes.ts'
import { sendEmailCode } from './send-email-code.ts'
import { setUpTotp } from './setup-totp.ts'
import { countDevices, deviceList, listDevices } from './store.ts'
import { undoEnrolment } from './undo-enrolment.ts'
import { verifyCode } from './verify-code.ts'

const deviceName = z
  .string('Give the name as text.')
  .trim()
  .max(120, 'A name may have 120 characters at most.')
  .transform((name) => name || 'Authenticator app')
  .default('Authenticator app')
  .meta({ example: 'Phone', override: { type: 'string', maxLength: 120, default: 'Authenticator app' } })

const tag = 'Second factors'

const devices = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/auth/otp/devices',
    list: deviceList,
    rows: (read, { caller: { userId } }, page) =>
      pageAndCount(listDevices(read, userId, page), countDevices(read, userId, page)),
    show: (row) => toJsonDevice(row, deps.clock()),
  })

export const otpRoutes = (deps: Deps): Route[] => [
  route({
    method: 'POST',
    path: '/api/v1/auth/otp/totp/setup',
    action: 'otp_device:create',
    tag,
    summary: 'Begin to set up an authenticator app',
    description:
      'Only this answer contains the secret. The device counts after you have confirmed one of its codes.',
    body: z.object({ name: deviceName, current_password: repeatedPassword }),
    status: 200,
    answer: z.object({
      device: deviceSchema,
      secret: z.string().meta({ description: 'Base32' }),
      provisioning_uri: z.string().meta({ description: 'otpauth://totp/…' }),
      qr_svg: z.string().meta({ description: 'The same as a QR code' }),
    }),
    secret: true,
    handle: async ({ caller, body }) => {
      const { name, current_password: currentPassword } = body
      const { device, ...secret } = await setUpTotp(deps, caller, { name, currentPassword })
      return { device: toJsonDevice(device, deps.clock()), ...secret }
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/otp/totp/confirm',
    action: 'otp_device:confirm',
    tag,
    summary: 'Confirm an authenticator app by its first code',
    body: confirmBody,
    status: 200,
    answer: z.object({ confirmed: z.literal(true), device: deviceSchema, ...pair }),
    refusals: [404, 409],
    secret: true,
    handle: async ({ caller, body }) => {
      const { device, outcome } = await confirmTotp(deps, caller, body)
      return handOut(outcome, { confirmed: true, device: toJsonDevice(device, deps.clock()) })
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/otp/email/send',
    action: 'otp:send',
    tag,
    summary: 'Mail yourself a code',
    status: 200,
    answer: z.object({ message: z.literal('OTP code sent'), expires_in: z.int() }),
    secret: true,
    handle: ({ caller }) => sendEmailCode(deps, caller),
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/otp/static/generate',
    action: 'otp_device:generate',
    tag,
    summary: 'Make a new set of recovery codes',
    description: 'Only this answer contains the codes. The codes of an earlier set stop working.',
    body: z.object({ current_password: repeatedPassword }),
    status: 200,
    answer: z.object({ device_id: z.uuid(), codes: z.array(z.string()), count: z.int() }),
    secret: true,
    handle: ({ caller, body }) => generateRecoveryCodes(deps, caller, body.current_password),
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/otp/verify',
    action: 'otp:verify',
    tag,
    summary: 'Show a second factor',
    description:
      'Tries TOTP, then codes sent by e-mail, then recovery codes. A wrong code is a 400. While a factor does not count ' +
      'yet, its right code answers `counts_from` and the session stays `aal1`; a temporary token for a tenant that ' +
      'requires a second factor then gets no tokens, but stays valid for a code that counts.',
    body: verifyBody,
    status: 200,
    answer: verifiedSchema,
    secret: true,
    handle: ({ caller, body }) => verifyCode(deps, caller, body),
  }),
  route({
    path: '/api/v1/auth/otp/undo',
    tag,
    summary: 'Remove a second factor with the token from the mail about it',
    description: 'Ends all sessions of its person. The password stays the same: reset it next.',
    ...mailedLink('Second factor removed', (requestInfo, token) => undoEnrolment(deps, requestInfo, token)),
  }),
  route({
    method: 'GET',
    action: 'otp_device:list',
    tag,
    summary: 'List your second factors',
    status: 200,
    answer: pageOf(deviceSchema),
    ...devices(deps),
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/auth/otp/devices/:id',
    action: 'otp_device:delete',
    tag,
    summary: 'Delete one of your second factors',
    description:
      'Recovery codes: needs a sign-in or a second factor in the last 10 minutes, or `current_password`.',
    body: z.object({ current_password: repeatedPassword }),
    status: 204,
    answer: null,
    refusals: [409],
    handle: ({ caller, params, body }) =>
      removeDevice(deps, caller, pathId(params.id), { currentPassword: body.current_password }),
  }),
]
