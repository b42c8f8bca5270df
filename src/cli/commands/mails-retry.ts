import { openQueueBackend } from '../../platform/jobs/queue-backend.ts'
import { defineCommand, Refused } from '../command.ts'
import { withPools } from '../with-database.ts'

const roles = ['worker'] as const

export const mailsRetry = defineCommand({
  name: 'mails:retry',
  about:
    'Try now every mail that failed and waits for its next attempt, as after an outage of the mail server',
  options: {},
  example: '',
  roles,
  run: ({ config }) =>
    withPools(config, roles, async (_db, { DATABASE_WORKER_URL, REDIS_URL }) => {
      const backend = openQueueBackend({
        databaseUrl: DATABASE_WORKER_URL!,
        redisUrl: REDIS_URL,
        onError: () => undefined, // the call at hand tells
      })
      try {
        const retried = await backend.promote('email').catch((): never => {
          throw new Refused(
            'unavailable',
            `${REDIS_URL ? 'Redis' : 'Postgres'} does not answer: the queues are there.`,
          )
        })
        return { data: { retried }, text: `Tried now: ${retried}` }
      } finally {
        await backend.close()
      }
    }),
})
