import { asWorker } from '../../platform/db/transaction.ts'
import { deadLetterReasons } from '../../platform/outbox/acknowledge.ts'
import { type DeadLetterFilter, replayDeadLetters } from '../../platform/outbox/dead-letters.ts'
import { defineCommand, Refused } from '../command.ts'
import { flag, id, Misuse, oneOf, optional, type Values } from '../options.ts'
import { queueName } from '../queue-name.ts'
import { withPools } from '../with-database.ts'

const roles = ['worker'] as const
const batch = 500

const options = {
  id: optional('<id>', 'This one', id),
  all: flag('All that were given up until now'),
  queue: optional('<queue>', 'With --all: those of one queue', queueName),
  reason: optional(
    '<reason>',
    'With --all: those that "failed", or that the recipient "refused" for good',
    oneOf(...deadLetterReasons),
  ),
}

export const deadLettersReplay = defineCommand({
  name: 'dead-letters:replay',
  about: 'Hand messages that were given up to their queues again, with all attempts anew',
  options,
  example: '--all --queue email',
  failure: 'it failed, or there is no dead letter of that id',
  roles,
  async run({ config, options }) {
    const which = wanted(options)
    const replayed = await withPools(config, roles, async (db) => {
      let count = 0
      for (let moved = batch; moved === batch; count += moved)
        moved = await asWorker(db, (tx) => replayDeadLetters(tx, which, batch))
      return count
    })
    if (which.id !== undefined && replayed === 0)
      throw new Refused('not_found', 'There is no dead letter of that id. Was it replayed already?')
    return { data: { replayed }, text: `Replayed: ${replayed}` }
  },
})

function wanted({ id, all, queue, reason }: Values<typeof options>): DeadLetterFilter {
  if (all === (id !== undefined)) throw new Misuse('Name one by --id, or give --all.')
  if (id !== undefined && (queue ?? reason) !== undefined)
    throw new Misuse('--queue and --reason go with --all.')
  return id === undefined ? { queue, reason, before: Date.now() + 1 } : { id }
}
