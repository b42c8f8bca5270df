import { z } from 'zod'
import { sql } from '../database/executor/transaction.ts'

/** The columns of an event. */
export const eventRow = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  type: z.string(),
  subject: z.string(),
  data: z.record(z.string(), z.unknown()),
  actor_id: z.uuid().nullable(),
  impersonator_id: z.uuid().nullable(),
  traceparent: z.string().nullable(),
  occurred_at: z.number(),
  sequence: z.number().nullable(),
})

export type EventRow = z.infer<typeof eventRow>

/** The columns of {@link eventRow}, with the table events as `e`. */
export const eventColumns = sql.fragment`
  e.tenant_id, e.id, e.type, e.subject, e.data, e.actor_id, e.impersonator_id, e.traceparent, e.occurred_at, e.sequence`

/** An event in the feed and in deliveries: CloudEvents 1.0 in JSON, with the type repeated as `event_type`. */
export interface CloudEvent {
  specversion: '1.0'
  id: string
  type: string
  event_type: string
  source: string
  subject: string
  time: string
  datacontenttype: 'application/json'
  tenantid: string
  sequence: number | null
  actorid: string | null
  impersonatorid: string | null
  traceparent: string | null
  data: Record<string, unknown>
}

/** The envelope of an event. It is the same in the feed and in every delivery, also when the service's URL changes. */
export const envelopeOf = (row: EventRow): CloudEvent => ({
  specversion: '1.0',
  id: row.id,
  type: row.type,
  event_type: row.type,
  source: `urn:bailiwick:tenant:${row.tenant_id}`,
  subject: row.subject,
  time: new Date(row.occurred_at).toISOString(),
  datacontenttype: 'application/json',
  tenantid: row.tenant_id,
  sequence: row.sequence,
  actorid: row.actor_id,
  impersonatorid: row.impersonator_id,
  traceparent: row.traceparent,
  data: row.data,
})
