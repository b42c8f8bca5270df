import { asWorker } from '../../database/executor/transaction.ts'
import { purgeDeadLetters } from '../../messages/mail/purge-dead-letters.ts'
import { deadLetterReasons } from '../../messages/outbox/acknowledge.ts'
import {
  type DeadLetter,
  type DeadLetterFilter,
  listDeadLetters,
  replayDeadLetters,
} from '../../messages/outbox/dead-letters.ts'
import { queues } from '../../messages/queues/queues.ts'
import { rfc3339 } from '../../request/body/schemas.ts'
import { defineCommand, Refused } from '../command.ts'
import { assertConfirmed } from '../confirm.ts'
import { defaulted, flag, id, Misuse, moment, oneOf, optional, type Values, wholeNumber } from '../options.ts'
import { inColumns } from '../printable.ts'
import { inBatches, withPools } from '../with-database.ts'

const roles = ['worker'] as const

// An unknown queue is refused: its list would always be empty.
const queueName = oneOf(...(Object.keys(queues) as (keyof typeof queues)[]))
const filters = (prefix: string) => ({
  queue: optional('<queue>', `${prefix} those of this queue, such as email`, queueName),
  reason: optional(
    '<reason>',
    `${prefix} those that "failed", or that the recipient "refused" for good`,
    oneOf(...deadLetterReasons),
  ),
})

export const deadLetters = defineCommand({
  name: 'dead-letters',
  about: 'List messages (mails, events, webhooks) that failed for good, latest first, with the reason',
  options: {
    ...filters('Only'),
    limit: defaulted('<n>', 'Maximum number of rows, up to 10000', wholeNumber(1, 10_000), 100),
  },
  example: '--queue email',
  roles,
  run: ({ config, options: { queue, reason, limit }, say }) =>
    withPools(config, roles, async (db) => {
      const found = await asWorker(db, (tx) => listDeadLetters(tx, { queue, reason }, limit + 1))
      const more = found.length > limit
      if (more) say(`There are more than ${limit}: --limit shows more.`)
      const rows = found.slice(0, limit).map(toRow)
      return { data: { dead_letters: rows, more }, text: inColumns(headings, rows.map(Object.values)) }
    }),
})

const headings = ['queue', 'tenant', 'failed_at', 'attempts', 'reason', 'error', 'id']

const toRow = ({ queue, tenant_id, failed_at, attempts, reason, error, id }: DeadLetter) => ({
  queue,
  tenant_id,
  failed_at: rfc3339(failed_at),
  attempts,
  reason,
  error,
  id,
})

const replayOptions = {
  id: optional('<id>', 'The dead letter with this id', id),
  all: flag('All dead letters up to now'),
  ...filters('With --all: only'),
}

export const deadLettersReplay = defineCommand({
  name: 'dead-letters:replay',
  about: 'Put dead letters back on their queues, with all their attempts',
  options: replayOptions,
  example: '--all --queue email',
  failure: 'failed, or there is no dead letter with that id',
  roles,
  async run({ config, options }) {
    const which = selectionOf(options)
    const replayed = await withPools(config, roles, (db) =>
      inBatches(db, (tx, limit) => replayDeadLetters(tx, which, limit)),
    )
    if (which.id !== undefined && replayed === 0)
      throw new Refused('not_found', 'There is no dead letter with that id. Was it replayed already?')
    return { data: { replayed }, text: `Replayed: ${replayed}` }
  },
})

function selectionOf({ id, all, queue, reason }: Values<typeof replayOptions>): DeadLetterFilter {
  if (all === (id !== undefined)) throw new Misuse('Give either --id or --all.')
  if (id !== undefined && (queue ?? reason) !== undefined)
    throw new Misuse('--queue and --reason need --all.')
  return id === undefined ? { queue, reason, before: Date.now() + 1 } : { id }
}

export const deadLettersPurge = defineCommand({
  name: 'dead-letters:purge',
  about: 'Delete dead letters, and the content of mails among them; asks unless --yes',
  options: {
    id: optional('<id>', 'Only the one with this id', id),
    before: optional('<date>', 'Only those from before this day (UTC) or date and time (RFC 3339)', moment),
    ...filters('Only'),
    yes: flag('Do not ask'),
  },
  example: '--queue email --reason refused --yes',
  roles,
  async run({ config, options: { yes, id, before, queue, reason } }) {
    const filter = { id, before, queue, reason }
    const given = Object.entries(filter).filter(([, value]) => value !== undefined)
    if (given.length === 0)
      throw new Misuse(
        'Give at least one of --id, --before, --queue and --reason. Several narrow the choice.',
      )
    const which = given.map(
      ([name, value]) => `${name} ${typeof value === 'number' ? new Date(value).toISOString() : value}`,
    )
    if (!yes) await assertConfirmed(`Delete every dead letter with ${which.join(', ')}?`)
    const purged = await withPools(config, roles, (db) =>
      inBatches(db, (tx, limit) => purgeDeadLetters(tx, filter, limit)),
    )
    return { data: { purged }, text: `Purged: ${purged}` }
  },
})
