import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { isDatabaseUnavailable } from '../../database/executor/transaction.ts'
import { describeError } from '../../observe/describe-error.ts'

const pauseMs = 500
const longestMs = 20_000

/**
 * Records an effect outside the database that has happened, such as a mail. Repeats `record` while Postgres is unavailable,
 * for 20 s, as long as a stopping worker waits: if it failed, the message would come again and repeat the effect. `record`
 * must tolerate running again after a commit whose answer was lost. `facts` name the effect in the log.
 */
export async function untilRecorded<T>(
  log: Logger,
  facts: Record<string, unknown>,
  record: () => Promise<T>,
): Promise<T> {
  const begun = performance.now()
  for (;;) {
    try {
      return await record()
    } catch (error) {
      if (!isDatabaseUnavailable(error) || performance.now() - begun > longestMs) throw error
      log.warn({ ...facts, error: describeError(error) }, 'done, but not recorded yet')
      await sleep(pauseMs)
    }
  }
}
