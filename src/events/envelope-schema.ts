import { z } from 'zod'
import { timestamp } from '../request/body/schemas.ts'

/** An event in an answer. */
export const cloudEvent = z
  .object({
    specversion: z.literal('1.0'),
    id: z
      .uuid()
      .meta({ description: 'Unique. An event can be sent more than once: ignore ids that you have seen' }),
    type: z.string().meta({ example: 'identity.user_created' }),
    event_type: z.string().meta({ description: 'As `type`' }),
    source: z.string().meta({ description: '`urn:bailiwick:tenant:` and the id of the tenant' }),
    subject: z.string().meta({ description: 'Id of the object of the event' }),
    time: timestamp,
    datacontenttype: z.literal('application/json'),
    tenantid: z.uuid(),
    sequence: z
      .int()
      .nullable()
      .meta({ description: 'Position among the events of the tenant, from 1, without gaps' }),
    actorid: z.uuid().nullable().meta({ description: 'Who did it; null for the service itself' }),
    impersonatorid: z.uuid().nullable().meta({ description: 'Who acted as `actorid`, or null' }),
    traceparent: z.string().nullable(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event', description: 'CloudEvents 1.0 in JSON' })
