import { asWorker, type Tx } from '../../platform/db/transaction.ts'
import { queues } from '../../platform/jobs/queues.ts'
import { eraseFailed } from '../../platform/mail/mail-store.ts'
import { deleteDeadLetters } from '../../platform/outbox/dead-letters.ts'
import { defineCommand } from '../command.ts'
import { assertConfirmed } from '../confirm.ts'
import { flag, moment, required } from '../options.ts'
import { withPools } from '../with-database.ts'

const roles = ['worker'] as const
const batch = 500

export const deadLettersPurge = defineCommand({
  name: 'dead-letters:purge',
  about: 'Delete messages that were given up before a day, and what unsent mails held; asks unless --yes',
  options: {
    before: required('<date>', 'A day (from its begin in UTC) or a moment of RFC 3339', moment),
    yes: flag('Do not ask'),
  },
  example: '--before 2026-10-01 --yes',
  roles,
  async run({ config, options: { before, yes } }) {
    const day = new Date(before).toISOString()
    if (!yes) await assertConfirmed(`Delete every dead letter from before ${day}?`)
    const purged = await withPools(config, roles, async (db) => {
      let count = 0
      for (let gone = batch; gone === batch; count += gone)
        gone = await asWorker(db, (tx) => purge(tx, before))
      return count
    })
    return { data: { purged }, text: `Purged: ${purged}` }
  },
})

/** Nothing sends the mail of a dead letter that is gone, so its address and codes go with it. */
async function purge(tx: Tx, before: number): Promise<number> {
  const gone = await deleteDeadLetters(tx, { before, limit: batch })
  const mails = gone.flatMap(({ tenant_id: tenantId, queue, payload }) => {
    const message = queue === 'email' ? queues.email.safeParse(payload).data : undefined
    return message ? [{ tenantId, id: message.mail_id }] : []
  })
  if (mails.length > 0) await eraseFailed(tx, mails)
  return gone.length
}
