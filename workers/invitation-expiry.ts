import { describeError } from '../src/platform/describe-error.ts'
import { expireInvitations } from '../src/tenancy/invitations/expire-invitations.ts'
import { type Actor, pollingEvery } from './actor.ts'
import { measureJob } from './measure-job.ts'

const interval = 60_000

/** Marks overdue invitations as expired, every minute. No reader depends on it: readers compare `expires_at`. */
export const invitationExpiry: Actor = {
  name: 'invitation-expiry',
  description: pollingEvery(interval),
  async start(deps) {
    let work = Promise.resolve()
    const expire = async () => {
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
      work = work.then(expire)
    }, interval).unref()
    return {
      async stop() {
        clearInterval(timer)
        await work
      },
    }
  },
}
