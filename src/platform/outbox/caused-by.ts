import type { Caller } from '../http/caller.ts'

type Cause = Pick<Caller, 'tenantId' | 'userId' | 'requestInfo'>

/** What every event of a request says alike: in which tenant, by whom, in which request, when (ms since 1970). */
export const causedBy = ({ tenantId, userId, requestInfo }: Cause, at: number) => ({
  tenantId,
  actorId: userId,
  requestId: requestInfo.requestId,
  traceparent: requestInfo.traceparent ?? undefined,
  at,
})
