import type { Actor } from '../http/actor.ts'

type Caller = Pick<Actor, 'tenantId' | 'userId' | 'origin'>

/** What every event of a request says alike: in which tenant, by whom, in which request, when (ms since 1970). */
export const causedBy = ({ tenantId, userId, origin }: Caller, at: number) => ({
  tenantId,
  actorId: userId,
  requestId: origin.requestId,
  traceparent: origin.traceparent ?? undefined,
  at,
})
