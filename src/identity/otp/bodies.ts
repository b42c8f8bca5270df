import { type ZodType, z } from 'zod'
import { ApiError, validationError } from '../../errors.ts'
import { bodyErrors } from '../../request/body/field-errors.ts'
import { written } from '../../request/body/known-members.ts'
import { bodyId } from '../../request/body/schemas.ts'
import { presentedPassword } from '../person.ts'
import { codeTypes } from './channels.ts'

interface Property {
  type: 'string'
  description?: string
  format?: string
  enum?: string[]
}

/** A body whose refusal has `field: false` with the errors, so that a client that reads only this fails closed. */
const failingClosed = <T extends ZodType>(
  field: 'verified' | 'confirmed',
  schema: T,
  properties: Record<string, Property>,
) =>
  written(
    z
      .unknown()
      .transform((value): z.output<T> => {
        const read = schema.safeParse(value)
        if (read.success) return read.data
        const error = validationError(...bodyErrors(read.error, value))
        const { status, code, message, errors } = error
        throw new ApiError(status, code, message, { errors, members: { [field]: false } })
      })
      .meta({ override: { type: 'object', required: ['code'], properties } }),
    { as: schema },
  )

const code = z.string('Give the code as text.')

/** The caller's password, instead of a recent sign-in. */
export const repeatedPassword = presentedPassword.optional().meta({
  description: 'If you signed in more than 10 minutes ago',
})
const kind = z.enum(codeTypes, `A device type is one of ${codeTypes.join(', ')}.`)

/** `code`, and the one channel to try: `device_type`, or `type`. */
export const verifyBody = failingClosed(
  'verified',
  z
    .object({ code, device_type: kind.optional(), type: kind.optional() }, 'Send a JSON object.')
    .transform((body) => ({ code: body.code, deviceType: body.device_type ?? body.type })),
  {
    code: { type: 'string', description: 'From an authenticator app, a mail, or a recovery code' },
    device_type: { type: 'string', enum: [...codeTypes], description: 'Tries only this kind of device' },
    type: { type: 'string', enum: [...codeTypes], description: 'The same as device_type' },
  },
)

/** `code`, the device unless it is the one being set up, and the password if the sign-in is old. */
export const confirmBody = failingClosed(
  'confirmed',
  z
    .object(
      { code, device_id: bodyId.optional(), current_password: presentedPassword.optional() },
      'Send a JSON object.',
    )
    .transform((body) => ({
      code: body.code,
      deviceId: body.device_id,
      currentPassword: body.current_password,
    })),
  {
    code: { type: 'string', description: 'The 6 digits that the app shows now' },
    device_id: { type: 'string', format: 'uuid' },
    current_password: {
      type: 'string',
      format: 'password',
      description: 'If you signed in, and set the device up, more than 10 minutes ago',
    },
  },
)
