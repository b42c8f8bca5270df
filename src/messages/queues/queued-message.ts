import { z } from 'zod'

/** A message for a queue. `id` is the id of the outbox row and, without `job`, of its job. */
export interface QueuedMessage extends MessageKey {
  payload: unknown
  /** The id of a job that carries others, too: a new one each time, because a queue ignores a job whose id it has. */
  job?: string
  /** Messages of the same queue that the job carries, too. */
  others?: readonly CarriedMessage[]
}

/** The key of an outbox message. */
export interface MessageKey {
  id: string
  tenantId: string
}

/** A message without its payload; `traceparent` is that of the payload. */
export const carriedMessage = z.object({
  id: z.uuid(),
  tenantId: z.uuid(),
  traceparent: z.string().exactOptional(),
})
export type CarriedMessage = z.infer<typeof carriedMessage>
