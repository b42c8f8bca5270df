import { z } from 'zod'
import { deviceTypes } from '../otp/channels.ts'

export const tokenPair = z
  .object({
    access: z.string().meta({ description: 'JWT: send it as Authorization: Bearer <access>' }),
    refresh: z.string().meta({ description: 'JWT: single use, for /api/v1/auth/refresh/' }),
  })
  .meta({ id: 'TokenPair' })

export const otpRequired = z
  .object({
    otp_required: z.literal(true),
    temporary_token: z
      .string()
      .meta({ description: 'For POST /api/v1/auth/otp/verify/ or …/passkeys/verify/, as Bearer' }),
    expires_in: z.int(),
    methods: z.array(z.enum(deviceTypes)).meta({ description: 'The channels that the person can use now' }),
  })
  .meta({ id: 'OtpRequired' })

/** The answer to a sign-in. */
export const signedIn = z.union([tokenPair, otpRequired])
