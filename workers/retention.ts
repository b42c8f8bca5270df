import { deleteRequestsBefore, dropBodiesBefore } from '../src/authorization/approvals/transition-store.ts'
import { deleteDecisionsBefore, deleteShadowCountsBefore } from '../src/authorization/decisions/store.ts'
import { deleteVersionsBefore } from '../src/authorization/policies/store.ts'
import { asWorker, type Tx } from '../src/database/executor/transaction.ts'
import { deleteLogCountsBefore } from '../src/database/log-quota.ts'
import { deleteEntriesBefore, deleteEntriesBeyond } from '../src/directory/log/store.ts'
import {
  deleteDeliveriesOf,
  deleteEndedBefore,
  giveUpWithoutEvent,
  listDeletedWebhooks,
} from '../src/events/webhooks/delivery-store.ts'
import { deleteSignInsBefore, deleteSignInsOf } from '../src/federation/connections/sign-ins/store.ts'
import { deleteErasure, deletePlacesBefore, listErasures } from '../src/identity/expiry-store.ts'
import { deleteFeedEntriesBefore } from '../src/installation/feed/store.ts'
import { deleteAuditBefore } from '../src/messages/audit/append-audit.ts'
import {
  type PageEnd,
  type Scrub,
  type Scrubbed,
  scrubPage,
  scrubs,
} from '../src/messages/audit/scrub-person.ts'
import { deleteMailsBefore, deleteMailsNaming, forgetRecipients } from '../src/messages/mail/mail-store.ts'
import { purgeDeadLetters } from '../src/messages/mail/purge-dead-letters.ts'
import { deleteEventsBefore } from '../src/messages/outbox/event-store.ts'
import { deleteLogoutsBefore } from '../src/oauth/logouts/store.ts'
import type { WorkerDeps } from './deps.ts'
import { inBatches } from './in-batches.ts'
import { defineScheduled } from './schedule.ts'

const day = 86_400_000
/** ms after an erasure until all requests of the person that were under way have written their log rows. */
const scrubDelay = 60_000
const maxPeople = 100
const scrubPageSize = 1_000
const directoryLogMs = 30 * day
const maxDirectoryEntries = 100_000

type RetentionDeps = Pick<WorkerDeps, 'db' | 'clock' | 'config' | 'sealer'>
type RetentionSetting = keyof WorkerDeps['config'] & `${string}_RETENTION_DAYS`
/** Deletes at most `limit` rows older than `before` (ms since 1970); returns how many. */
type DeleteBefore = (tx: Tx, before: number, limit: number) => Promise<number>

/** Rows that are kept for a number of days. docs/reference/retention.md explains each. */
const kept: Record<string, [RetentionSetting, DeleteBefore]> = {
  decisions: ['DECISION_RETENTION_DAYS', deleteDecisionsBefore],
  shadow_counts: ['DECISION_RETENTION_DAYS', deleteShadowCountsBefore],
  deliveries: ['WEBHOOK_DELIVERY_RETENTION_DAYS', deleteEndedBefore],
  logouts: ['WEBHOOK_DELIVERY_RETENTION_DAYS', deleteLogoutsBefore],
  events: ['EVENT_RETENTION_DAYS', deleteEventsBefore],
  feed_entries: ['EVENT_RETENTION_DAYS', deleteFeedEntriesBefore],
  audit_rows: ['AUDIT_RETENTION_DAYS', deleteAuditBefore],
  approval_bodies: ['APPROVAL_BODY_RETENTION_DAYS', dropBodiesBefore],
  approval_requests: ['APPROVAL_RETENTION_DAYS', deleteRequestsBefore],
  versions_of_deleted: ['DELETED_POLICY_RETENTION_DAYS', deleteVersionsBefore],
  dead_letters: [
    'DEAD_LETTER_RETENTION_DAYS',
    (tx, before, limit) => purgeDeadLetters(tx, { before }, limit),
  ],
  mails: ['MAIL_RETENTION_DAYS', deleteMailsBefore],
  sign_in_places: ['SIGN_IN_PLACE_RETENTION_DAYS', deletePlacesBefore],
}

export const retention = defineScheduled({
  name: 'retention',
  queue: 'retention',
  every: 3_600_000,
  lockDuration: 60_000,
  run: deleteOutdated,
})

/** Deletes rows whose retention ended, in batches, and scrubs the logs of erased people; returns how many of each. */
export async function deleteOutdated(deps: RetentionDeps): Promise<Record<string, number>> {
  const now = deps.clock()
  const before = (setting: RetentionSetting) => now - deps.config[setting] * day
  // Before the events are deleted: a delivery without its event would block the later ones of its webhook forever.
  const given_up = await inBatches(deps, (tx, limit) =>
    giveUpWithoutEvent(tx, before('EVENT_RETENTION_DAYS'), now, limit),
  )
  const deleted: Record<string, number> = { given_up }
  for (const [name, [setting, deleteBefore]] of Object.entries(kept))
    deleted[name] = await inBatches(deps, (tx, limit) => deleteBefore(tx, before(setting), limit))
  deleted.sign_ins = await inBatches(deps, (tx, limit) => deleteSignInsBefore(tx, now - 30 * day, limit))
  deleted.log_counts = await inBatches(deps, (tx, limit) => deleteLogCountsBefore(tx, now - day, limit))
  deleted.directory_log =
    (await inBatches(deps, (tx, limit) => deleteEntriesBefore(tx, now - directoryLogMs, limit))) +
    (await inBatches(deps, (tx, limit) => deleteEntriesBeyond(tx, maxDirectoryEntries, limit)))
  deleted.deliveries! += await deleteOrphanedDeliveries(deps)
  deleted.people_scrubbed = await scrubErased(deps)
  return deleted
}

/** Deleting a webhook does not delete its deliveries, because that can take long. They are deleted here. */
async function deleteOrphanedDeliveries(deps: RetentionDeps): Promise<number> {
  let count = 0
  for (const webhook of await asWorker(deps.db, listDeletedWebhooks))
    count += await inBatches(deps, (tx, limit) => deleteDeliveriesOf(tx, webhook, limit))
  return count
}

/** Removes erased people from the logs, except their ids; returns how many people. Running twice changes nothing. */
async function scrubErased({ db, clock, sealer }: RetentionDeps): Promise<number> {
  const erased = await asWorker(db, (tx) => listErasures(tx, clock() - scrubDelay, maxPeople))
  for (const { user_id: userId, emails, tenant_ids, target_ids: targetIds } of erased) {
    for (const tenantId of tenant_ids) {
      for (const scrub of scrubs) await inPages({ db }, scrub, { tenantId, userId, emails, targetIds })
      await asWorker(db, (tx) => deleteMailsNaming(tx, sealer, tenantId, emails))
      await asWorker(db, (tx) => deleteSignInsOf(tx, sealer, { tenantId, userId, emails }))
    }
    const hashes = emails.flatMap((email) => sealer.macs('mail-recipient', email.toLowerCase()))
    await asWorker(db, async (tx) => {
      forgetRecipients(tx, hashes)
      await deleteErasure(tx, userId)
    })
  }
  return erased.length
}

/** Scrubs each page in its own transaction: a person can have more rows than one statement can handle in time. */
async function inPages({ db }: Pick<WorkerDeps, 'db'>, scrub: Scrub, person: Scrubbed): Promise<void> {
  let after: PageEnd | null = null
  do after = await asWorker(db, (tx) => scrubPage(tx, scrub, person, { after, limit: scrubPageSize }))
  while (after)
}
