import { asWorker, type Databases } from '../../database/executor/transaction.ts'
import { findReplayScope, type Replay, replayDeliveries } from '../../events/webhooks/delivery-store.ts'
import { defineCommand, Refused } from '../command.ts'
import { id, Misuse, optional, required, wholeNumber } from '../options.ts'
import { withPools } from '../with-database.ts'

const roles = ['worker'] as const
const batch = 500
const sequence = wholeNumber(1, Number.MAX_SAFE_INTEGER)

export const eventsReplay = defineCommand({
  name: 'events:replay',
  about: 'Deliver events of a tenant to its webhooks again, in order',
  options: {
    tenant: required('<id>', 'The id of the tenant', id),
    from: required('<sequence>', 'The sequence number of the first event', sequence),
    to: optional('<sequence>', 'The sequence number of the last event (default: the newest)', sequence),
    webhook: optional('<id>', 'Deliver only to this webhook', id),
  },
  example: '--tenant 01a1ff14-e5e1-704e-ad30-df67e149b83c --from 1200 --to 1350',
  failure: 'failed, there is no active webhook, or some of the events are no longer kept',
  roles,
  async run({ config, options: { tenant: tenantId, from, to: given, webhook: webhookId } }) {
    if (given !== undefined && given < from) throw new Misuse('--to is lower than --from.')
    return withPools(config, roles, async (db) => {
      const reach = await asWorker(db, (tx) => findReplayScope(tx, { tenantId, webhookId }))
      const { webhooks, last, deleted_up_to } = reach
      if (webhooks === 0)
        throw new Refused('not_found', 'This tenant has no active webhook, or none with that id.')
      if (from <= deleted_up_to)
        throw new Refused(
          'gone',
          `Events up to ${deleted_up_to} are no longer kept. Start with --from ${deleted_up_to + 1}.`,
        )
      const to = Math.min(given ?? last, last)
      const replayed = await replay(db, { tenantId, from, to, webhookId })
      const text = `Events ${from} to ${to}: ${replayed} deliveries are queued`
      return {
        data: { replayed, from, to, webhooks },
        text: to < from ? 'There are no such events yet' : text,
      }
    })
  },
})

/** Replays in batches, lower sequences first. Each batch commits with its messages, so delivery starts at once. */
async function replay(db: Pick<Databases, 'worker'>, { from, to, ...rest }: Replay): Promise<number> {
  let replayed = 0
  for (let first = from; first <= to; first += batch) {
    const part = { ...rest, from: first, to: Math.min(first + batch - 1, to) }
    replayed += await asWorker(db, (tx) => replayDeliveries(tx, part, Date.now()))
  }
  return replayed
}
