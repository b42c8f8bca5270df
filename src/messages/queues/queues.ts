import { z } from 'zod'
import type { queueNames } from '../../database/migrate/queue-names.ts'

const message = <Shape extends z.core.$ZodLooseShape>(fields: Shape) =>
  z.strictObject({
    v: z.literal(1),
    request_id: z.string().optional(),
    // W3C Trace Context: the span that wrote the message.
    traceparent: z.string().optional(),
    ...fields,
  })

/**
 * Every queue and its messages: the whole contract between the service and its workers. A message holds ids and a
 * version, never content. Add a new version as a member of a union, so that old rows still parse.
 */
export const queues = {
  // Codes and links, for which a person waits.
  email: message({ mail_id: z.uuid() }),
  // Mails about what happened. However many there are, they delay none of the others.
  notices: message({ mail_id: z.uuid() }),
  'event-fanout': message({ event_id: z.uuid() }),
  // Delivers all open deliveries of a webhook in order; the outbox holds at most one per webhook.
  webhook: message({ webhook_id: z.uuid() }),
  // A test or a replay.
  'webhook-once': message({ webhook_id: z.uuid(), delivery_id: z.uuid() }),
  // Tells a client that a session ended.
  logout: message({ logout_id: z.uuid() }),
  // Carries out the stored call of an approved request.
  execution: message({ approval_request_id: z.uuid() }),
  // Added by a schedule, not through the outbox.
  'otp-expiry': message({}),
  'approval-expiry': message({}),
  retention: message({}),
} satisfies Record<(typeof queueNames)[number], z.ZodType>

/** The queues of which one job carries all messages that a relay takes together: a job costs more than such a message. */
export const carriedTogether: ReadonlySet<string> = new Set<QueueName>(['event-fanout'])

/** The queues of mails. */
export const mailQueues = ['email', 'notices'] as const satisfies readonly QueueName[]
export type MailQueue = (typeof mailQueues)[number]

export type QueueName = keyof typeof queues
export type Message<Queue extends QueueName> = z.output<(typeof queues)[Queue]>
