import type { Caller } from '../../request/caller.ts'

type Cause = Pick<Caller, 'tenantId' | 'userId' | 'requestInfo'>

/** The fields that all events of a request share: tenant, actor, request, and time (ms since 1970). */
export const causedBy = ({ tenantId, userId, requestInfo }: Cause, at: number) => ({
  tenantId,
  actorId: userId,
  requestId: requestInfo.requestId,
  traceparent: requestInfo.traceparent ?? undefined,
  at,
})
