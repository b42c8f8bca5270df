import type { Tx } from '../../database/executor/transaction.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import type { Offer } from '../../tenancy/invitations/store.ts'
import { recordVerified } from '../email-verification/record-verified.ts'
import { markProven } from '../users/address-store.ts'

/** Verifies the invited address: the holder of the token can read its mail. The inviting tenant gets the event. */
export async function verifyByInvitation(
  tx: Tx,
  { tenant_id: tenantId, email }: Offer,
  { id, requestInfo, at }: { id: string; requestInfo: RequestInfo; at: number },
): Promise<void> {
  if (!(await markProven(tx, { id, email, at }))) return
  await recordVerified(tx, { userId: id, email, tenantId, requestInfo, at })
}
