/** A message for a queue. `id` is the id of the outbox row and of the job. */
export interface QueuedMessage extends MessageKey {
  payload: unknown
  /** Messages of the same queue that its job carries, too. */
  others?: readonly CarriedMessage[]
}

/** The key of an outbox message. */
export interface MessageKey {
  id: string
  tenantId: string
}

/** A message without its payload; `traceparent` is that of the payload. */
export interface CarriedMessage extends MessageKey {
  traceparent?: string
}
