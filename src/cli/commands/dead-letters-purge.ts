import { asWorker } from '../../platform/db/transaction.ts'
import { purgeDeadLetters } from '../../platform/mail/purge-dead-letters.ts'
import { deadLetterReasons } from '../../platform/outbox/acknowledge.ts'
import { defineCommand } from '../command.ts'
import { assertConfirmed } from '../confirm.ts'
import { flag, id, Misuse, moment, oneOf, optional } from '../options.ts'
import { queueName } from '../queue-name.ts'
import { withPools } from '../with-database.ts'

const roles = ['worker'] as const
const batch = 500

export const deadLettersPurge = defineCommand({
  name: 'dead-letters:purge',
  about: 'Delete dead letters, and the content of mails among them; asks for confirmation unless --yes',
  options: {
    id: optional('<id>', 'Only this one', id),
    before: optional('<date>', 'Only those from before this day (UTC) or moment (RFC 3339)', moment),
    queue: optional('<queue>', 'Only those of this queue, such as email', queueName),
    reason: optional(
      '<reason>',
      'Only those that "failed", or that the recipient "refused" for good',
      oneOf(...deadLetterReasons),
    ),
    yes: flag('Do not ask'),
  },
  example: '--queue email --reason refused --yes',
  roles,
  async run({ config, options: { yes, id, before, queue, reason } }) {
    const filter = { id, before, queue, reason }
    const given = Object.entries(filter).filter(([, value]) => value !== undefined)
    if (given.length === 0)
      throw new Misuse('Say which: --id, --before, --queue or --reason. Several of them narrow it down.')
    const which = given.map(
      ([name, value]) => `${name} ${typeof value === 'number' ? new Date(value).toISOString() : value}`,
    )
    if (!yes) await assertConfirmed(`Delete every dead letter with ${which.join(', ')}?`)
    const purged = await withPools(config, roles, async (db) => {
      let count = 0
      for (let gone = batch; gone === batch; count += gone)
        gone = await asWorker(db, (tx) => purgeDeadLetters(tx, filter, batch))
      return count
    })
    return { data: { purged }, text: `Purged: ${purged}` }
  },
})
