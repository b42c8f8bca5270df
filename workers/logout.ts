import { openPoster } from '../src/events/webhooks/post-event.ts'
import { rulesOfUri } from '../src/federation/call-upstream.ts'
import { DelayedError } from '../src/messages/queues/delayed-error.ts'
import { endLogout } from '../src/oauth/logouts/store.ts'
import { findListener, tellClient } from '../src/oauth/logouts/tell-client.ts'
import { defineActor } from './actor.ts'
import { atReceiver, fairSlots } from './fair-slots.ts'

/** Slots of one tenant, and of one client's host, at most. */
const slots = { total: 50, perKey: 10 }

/**
 * Tells clients that sessions ended. It signs as the API does, so it needs the databases of the API. The lock is short, because
 * a person who logged out waits.
 */
export const logout = defineActor({
  name: 'logout',
  queue: 'logout',
  concurrency: slots.total,
  attempts: 30,
  backoff: { first: 1_000, longest: 60_000 },
  lockDuration: 10_000,
  handler(deps) {
    const { clock, config } = deps
    const posterFor = (allowPrivate: boolean) =>
      openPoster({ rules: { allowPrivate, allowedHosts: [] }, clock })
    const posters = { inside: posterFor(true), outside: posterFor(false) }
    const inFairSlot = fairSlots(slots)
    return async ({ id, tenantId, message }) => {
      const service = await deps.service()
      const key = { id, tenantId, logoutId: message.logout_id }
      const client = await findListener({ db: deps.db, service }, key)
      const uri = client?.backchannel_logout_uri ?? ''
      const poster = posters[rulesOfUri(uri, config).allowPrivate ? 'inside' : 'outside']
      const keys = atReceiver(tenantId, URL.parse(uri)?.hostname ?? '')
      const wait = await inFairSlot(id, keys, () => tellClient({ ...deps, service, poster }, client, key))
      if (wait !== null) throw new DelayedError(wait)
    }
  },
  onDeadLetter:
    ({ logout_id: logoutId }, { tenantId, at }) =>
    async (tx) =>
      endLogout(tx, { tenantId, logoutId }, { to: 'failed', status: null, at }),
})
