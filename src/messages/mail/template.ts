import { z } from 'zod'

/** What a person asked for whose mail is counted before it is queued: beyond the limit the request fails with 429. */
export const mailPurposes = [
  'reset',
  'magic-link',
  'provider',
  'code',
  'factor',
  'verification',
  'address-change',
  'invitation',
] as const
export type MailPurpose = (typeof mailPurposes)[number]

/** Notices of a kind that one address gets in an hour, unless their template says otherwise. */
export const noticesPerHour = 5

/**
 * A mail with a code or a link that its reader waits for: the form of its variables. Its text is in src/languages, by the
 * same name. It has the queue `email`. `limitedBy` are the purposes under which it is counted.
 */
export const template = <Shape extends z.core.$ZodLooseShape>(
  limitedBy: readonly MailPurpose[],
  shape: Shape,
) => ({ queue: 'email' as const, limitedBy, variables: z.strictObject(shape) })

/**
 * A mail about what happened, which must not delay those with codes: it has the queue `notices`. An address gets
 * `perHour` of its kind in an hour, then one that says how many more there were.
 */
export const notice = <Shape extends z.core.$ZodLooseShape>(shape: Shape, perHour = noticesPerHour) => ({
  queue: 'notices' as const,
  perHour,
  variables: z.strictObject(shape),
})

/** A moment in ms since 1970. Mails that 0.2 queued have it as RFC 3339. */
export const moment = z.union([z.number(), z.iso.datetime().transform((text) => Date.parse(text))])
