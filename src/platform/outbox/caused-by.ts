import type { Actor } from '../http/actor.ts'

/** What every event of a request says alike: in which tenant, by whom, in which request, when (ms since 1970). */
export const causedBy = ({ tenantId, userId, origin }: Actor, at: number) => ({
  tenantId,
  actorId: userId,
  requestId: origin.requestId,
  traceparent: origin.traceparent ?? undefined,
  at,
})
