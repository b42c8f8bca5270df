import { asWorker } from '../../platform/db/transaction.ts'
import { rfc3339 } from '../../platform/http/schemas.ts'
import { deadLetterReasons } from '../../platform/outbox/acknowledge.ts'
import { type DeadLetter, listDeadLetters } from '../../platform/outbox/dead-letters.ts'
import { inColumns } from '../columns.ts'
import { defineCommand } from '../command.ts'
import { defaulted, oneOf, optional, wholeNumber } from '../options.ts'
import { queueName } from '../queue-name.ts'
import { withPools } from '../with-database.ts'

const roles = ['worker'] as const

export const deadLetters = defineCommand({
  name: 'dead-letters',
  about: 'List messages (mails, events, webhooks) that were given up, latest first, and why',
  options: {
    queue: optional('<queue>', 'Those of one queue, such as email', queueName),
    reason: optional(
      '<reason>',
      'Those that "failed", or that the recipient "refused" for good',
      oneOf(...deadLetterReasons),
    ),
    limit: defaulted('<n>', 'At most so many, up to 10000', wholeNumber(1, 10_000), 100),
  },
  example: '--queue email',
  roles,
  run: ({ config, options: { queue, reason, limit }, say }) =>
    withPools(config, roles, async (db) => {
      const found = await asWorker(db, (tx) => listDeadLetters(tx, { queue, reason }, limit + 1))
      const more = found.length > limit
      if (more) say(`There are more than ${limit}: --limit shows more.`)
      const shown = found.slice(0, limit).map(showDeadLetter)
      return { data: { dead_letters: shown, more }, text: inColumns(headings, shown.map(Object.values)) }
    }),
})

const headings = ['queue', 'tenant', 'failed_at', 'attempts', 'reason', 'error', 'id']

const showDeadLetter = ({ queue, tenant_id, failed_at, attempts, reason, error, id }: DeadLetter) => ({
  queue,
  tenant_id,
  failed_at: rfc3339(failed_at),
  attempts,
  reason,
  error,
  id,
})
