import { z } from 'zod'

/** A time in an answer: RFC 3339 in UTC. */
export const timestamp = z.iso.datetime().meta({ example: '2026-11-21T09:30:00.000Z' })

/** An id in a body, in lower case; 400 unless it is a UUID. */
export const bodyId = z
  .string('Give the id as text.')
  .transform((text) => text.toLowerCase())
  .pipe(z.guid('This is not a UUID.'))
  .meta({ format: 'uuid', example: '019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b' })

/** An object of any members. Not a record of zod: its check of each name takes 20 ms for the names of a long body. */
export const anyObject = (detail: string) =>
  z
    .unknown()
    .transform((value, context): Record<string, unknown> => {
      if (typeof value === 'object' && value !== null && !Array.isArray(value))
        return value as Record<string, unknown>
      context.addIssue({ code: 'invalid_type', expected: 'object', message: detail, input: value })
      return z.NEVER
    })
    .meta({ override: { type: 'object', additionalProperties: true } })

/** A token from a mail. Any text is valid here, because a wrong token gets the same answer as an expired one. */
export const linkToken = z
  .string('Give the token as text.')
  .min(1, 'Give the token from the mail.')
  .max(500, 'This is not a token.')

/** An answer with a message only. */
export const message = (text: string) => z.object({ message: z.literal(text) })

/** The RFC 3339 form of a time in ms since 1970. */
export const rfc3339 = (ms: number): string => new Date(ms).toISOString()

/** The name of an application that has a manifest. */
export const applicationName = z
  .string('Give the name of the application as text.')
  .regex(
    /^[a-z][a-z0-9_-]{0,62}$/,
    'An application has 1 to 63 of a-z, 0-9, _ and -, and begins with a letter.',
  )

/** In an answer: the application whose manifest gives every tenant this object; null for the tenant's own. */
export const managedBy = z.string().nullable().meta({
  description: 'The application whose manifest gives every tenant this object; null for your own',
})
