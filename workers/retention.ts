import { dropBodiesBefore } from '../src/authorization/approvals/transition-store.ts'
import { deleteDecisionsBefore } from '../src/authorization/decisions/store.ts'
import {
  deleteDeliveriesOf,
  deleteEndedBefore,
  giveUpWithoutEvent,
  listDeletedWebhooks,
} from '../src/events/webhooks/delivery-store.ts'
import { deletePlacesBefore } from '../src/identity/expiry-store.ts'
import { deleteAuditBefore } from '../src/platform/audit/erase-audit.ts'
import { asWorker, type Tx } from '../src/platform/db/transaction.ts'
import { deleteMailsBefore } from '../src/platform/mail/mail-store.ts'
import { purgeDeadLetters } from '../src/platform/mail/purge-dead-letters.ts'
import { deleteEventsBefore } from '../src/platform/outbox/event-store.ts'
import type { WorkerDeps } from './deps.ts'
import { inBatches } from './in-batches.ts'
import { defineScheduled } from './schedule.ts'
import { scrubErased } from './scrub-erased.ts'

const day = 86_400_000

type RetentionDeps = Pick<WorkerDeps, 'db' | 'clock' | 'config' | 'sealer'>
type RetentionSetting = keyof WorkerDeps['config'] & `${string}_RETENTION_DAYS`
/** Deletes at most `most` of what is older than `before` (ms since 1970); gives how many. */
type DeleteBefore = (tx: Tx, before: number, most: number) => Promise<number>

/** What is kept for a number of days; docs/reference/retention.md says of what and why. */
const kept: Record<string, [RetentionSetting, DeleteBefore]> = {
  decisions: ['DECISION_RETENTION_DAYS', deleteDecisionsBefore],
  deliveries: ['WEBHOOK_DELIVERY_RETENTION_DAYS', deleteEndedBefore],
  events: ['EVENT_RETENTION_DAYS', deleteEventsBefore],
  audit_rows: ['AUDIT_RETENTION_DAYS', deleteAuditBefore],
  approval_bodies: ['APPROVAL_BODY_RETENTION_DAYS', dropBodiesBefore],
  dead_letters: ['DEAD_LETTER_RETENTION_DAYS', (tx, before, most) => purgeDeadLetters(tx, { before }, most)],
  mails: ['MAIL_RETENTION_DAYS', deleteMailsBefore],
  sign_in_places: ['SIGN_IN_PLACE_RETENTION_DAYS', deletePlacesBefore],
}

/** Deletes what is kept no longer. */
export const retention = defineScheduled({
  name: 'retention',
  queue: 'retention',
  every: 3_600_000,
  lockDuration: 60_000,
  run: deleteOutdated,
})

/** Deletes what is kept no longer, in batches, and scrubs the logs of people who were erased; gives how many of each. */
export async function deleteOutdated(deps: RetentionDeps): Promise<Record<string, number>> {
  const now = deps.clock()
  const before = (setting: RetentionSetting) => now - deps.config[setting] * day
  // Before the events go, for a delivery without its event holds up those behind it for ever.
  const given_up = await inBatches(deps, (tx, most) =>
    giveUpWithoutEvent(tx, before('EVENT_RETENTION_DAYS'), now, most),
  )
  const deleted: Record<string, number> = { given_up }
  for (const [name, [setting, deleteBefore]] of Object.entries(kept))
    deleted[name] = await inBatches(deps, (tx, most) => deleteBefore(tx, before(setting), most))
  deleted.deliveries! += await deleteDeliveriesOfGone(deps)
  deleted.people_scrubbed = await scrubErased(deps)
  return deleted
}

/** Deliveries do not go with their webhook: deleting it would take as long as it has deliveries. */
async function deleteDeliveriesOfGone(deps: RetentionDeps): Promise<number> {
  let count = 0
  for (const webhook of await asWorker(deps.db, listDeletedWebhooks))
    count += await inBatches(deps, (tx, most) => deleteDeliveriesOf(tx, webhook, most))
  return count
}
