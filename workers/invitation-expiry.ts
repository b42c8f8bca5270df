import { describeError } from '../src/platform/describe-error.ts'
import { expireInvitations } from '../src/tenancy/invitations/expire-invitations.ts'
import { type Actor, pollingEvery } from './actor.ts'
import { measureJob } from './measure-job.ts'

const everyMs = 60_000

/** Tidies up, every minute, after invitations whose time is over. Nobody depends on it: readers compare the time. */
export const invitationExpiry: Actor = {
  name: 'invitation-expiry',
  description: pollingEvery(everyMs),
  async start(deps) {
    let atWork = Promise.resolve()
    const tidy = async () => {
      try {
        const expired = await measureJob(
          deps.metrics,
          'invitation-expiry',
          expireInvitations(deps.db, deps.clock()),
        )
        if (expired > 0) deps.log.info({ actor: 'invitation-expiry', expired }, 'invitations expired')
      } catch (error) {
        deps.log.warn({ actor: 'invitation-expiry', error: describeError(error) }, 'will be tried again')
      }
    }
    const timer = setInterval(() => {
      atWork = atWork.then(tidy)
    }, everyMs).unref()
    return {
      async stop() {
        clearInterval(timer)
        await atWork
      },
    }
  },
}
