import { discardUnsent } from '../../messages/mail/mail-store.ts'
import { mailQueues } from '../../messages/queues/queues.ts'
import { defineCommand, Refused } from '../command.ts'
import { assertConfirmed } from '../confirm.ts'
import { flag } from '../options.ts'
import { inBatches, withPools } from '../with-database.ts'

const roles = ['worker'] as const

export const mailsRetry = defineCommand({
  name: 'mails:retry',
  about:
    'Retry now every mail that waits for its next attempt, for example after an outage of the mail server',
  options: {},
  example: '',
  roles,
  run: ({ config }) =>
    withPools(config, roles, async (_db, { DATABASE_WORKER_URL, REDIS_URL }) => {
      const { openQueueBackend } = await import('../../messages/queues/queue-backend.ts') // slow to load
      const backend = openQueueBackend({
        databaseUrl: DATABASE_WORKER_URL!,
        redisUrl: REDIS_URL,
        onError: () => undefined, // the call below fails too
      })
      try {
        const promoted = Promise.all(mailQueues.map((queue) => backend.promote(queue)))
        const counts = await promoted.catch((): never => {
          throw new Refused(
            'unavailable',
            `${REDIS_URL ? 'Redis' : 'Postgres'}, which holds the queues, does not answer.`,
          )
        })
        const retried = counts.reduce((sum, count) => sum + count, 0)
        return { data: { retried }, text: `Retried: ${retried}` }
      } finally {
        await backend.close()
      }
    }),
})

export const mailsDiscard = defineCommand({
  name: 'mails:discard',
  about: 'Delete every mail that waits to be sent, for example after restoring a backup; asks unless --yes',
  options: { yes: flag('Do not ask') },
  example: '--yes',
  roles,
  async run({ config, options: { yes } }) {
    if (!yes) await assertConfirmed('Delete every mail that waits to be sent?')
    const discarded = await withPools(config, roles, (db) => inBatches(db, discardUnsent))
    return { data: { discarded }, text: `Discarded: ${discarded}` }
  },
})
