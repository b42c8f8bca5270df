import { carryOut, requesterOf } from '../src/authorization/approvals/carry-out.ts'
import { acknowledge } from '../src/messages/outbox/acknowledge.ts'
import { defineActor } from './actor.ts'
import { fairSlots } from './fair-slots.ts'

/** Slots of one tenant, and of one requester over all their tenants, at most. */
const slots = { total: 4, perKey: 2 }

/**
 * Carries out the stored calls of approved requests, as their requesters. It needs what the API needs: the databases of
 * its roles. A request whose call cannot be carried out expires.
 */
export const execution = defineActor({
  name: 'execution',
  queue: 'execution',
  concurrency: slots.total,
  attempts: 20,
  backoff: { first: 1_000, longest: 60_000 },
  lockDuration: 30_000,
  handler(deps) {
    const inFairSlot = fairSlots(slots)
    return async (delivery) => {
      const { id, tenantId, message } = delivery
      const { routes, ...service } = await deps.service()
      const approved = { tenantId, id: message.approval_request_id }
      const requester = (await requesterOf(service, approved)) ?? tenantId
      await inFairSlot(id, [...new Set([tenantId, requester])], () => carryOut(service, routes, approved))
      await acknowledge(deps.db, delivery, async () => undefined)
    }
  },
})
