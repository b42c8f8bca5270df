import { z } from 'zod'

/** A moment in an answer: RFC 3339 in UTC. */
export const timestamp = z.iso.datetime().meta({ example: '2026-11-21T09:30:00.000Z' })

/** An id in a body: 400 unless it is a UUID; in lower case. */
export const bodyId = z
  .string('Give the id as text.')
  .transform((text) => text.toLowerCase())
  .pipe(z.guid('This is not a UUID.'))
  .meta({ format: 'uuid', example: '019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b' })

/** A token out of a mail: any text, for a wrong one is told like a dead one. */
export const linkToken = z
  .string('Give the token as text.')
  .min(1, 'Give the token out of the mail.')
  .max(500, 'This is no token.')

/** An answer that only says what happened. */
export const message = (text: string) => z.object({ message: z.literal(text) })

/** RFC 3339 of a moment in ms since 1970. */
export const rfc3339 = (ms: number): string => new Date(ms).toISOString()
