import type { Tx } from '../../database/executor/transaction.ts'
import { appendEvent, appendEvents } from '../outbox/append-event.ts'
import { causedBy } from '../outbox/caused-by.ts'
import type { EventData, EventType } from '../outbox/event-types.ts'
import { type AuditActor, type AuditRow, appendAudit, appendAudits, doneBy } from './append-audit.ts'

/** The event and the audit row of one change. `target` is also the subject of the event. */
export interface RecordedChange<Type extends EventType>
  extends Pick<AuditRow, 'action' | 'target' | 'changes'> {
  event: Type
  data: EventData<Type>
}

/**
 * Records a change by a caller, as an event and an audit row in the transaction of the change. `at` in ms since 1970.
 */
export async function recordChange<Type extends EventType>(
  tx: Tx,
  actor: AuditActor,
  at: number,
  { event, data, ...audit }: RecordedChange<Type>,
): Promise<void> {
  await appendEvent(tx, { ...causedBy(actor, at), type: event, subject: audit.target.id, data })
  await appendAudit(tx, { ...doneBy(actor, at), ...audit })
}

/** The same for changes of many objects that make the same event, each with the id of the decision that permits it. */
export async function recordChanges<Type extends EventType>(
  tx: Tx,
  actor: AuditActor,
  at: number,
  event: Type,
  changes: readonly (Omit<RecordedChange<Type>, 'event'> & { decisionId: string })[],
): Promise<void> {
  const events = changes.map(({ target, data }) => ({ subject: target.id, data }))
  await appendEvents(tx, { ...causedBy(actor, at), type: event }, events)
  const rows = changes.map(({ data: _data, decisionId, ...audit }) => ({
    ...doneBy({ ...actor, decisionId }, at),
    ...audit,
  }))
  appendAudits(tx, rows)
}
