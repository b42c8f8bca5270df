import type { Tx } from '../../database/executor/transaction.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import type { AuditedActor } from '../../messages/audit/append-audit.ts'
import { endTokensOf } from '../../messages/links/link-store.ts'
import { forgetEntries } from '../../tenancy/members/store.ts'
import { revokeKeysOf } from '../api-keys/store.ts'
import { recordVerified } from '../email-verification/record-verified.ts'
import { deleteIdentitiesOf } from '../federated/store.ts'
import { deleteAllDevices } from '../otp/store.ts'
import { deleteSignInPlaces } from '../rate-limits/store.ts'
import { dropPastAddresses, markProvenByMailbox } from './address-store.ts'

interface MailboxProof {
  id: string
  /** The address to which the link was mailed. */
  email: string
  /** Null keeps the password. */
  passwordHash: string | null
  /** Replaces the password only at the first proof. */
  keepsPassword: boolean
  /** The tenant in which the link was asked for. It can be a stranger's. */
  tenantId: string
  /** An operator, or `voucher`, vouches for the address in place of a link. */
  bySystem?: boolean
  voucher?: AuditedActor | undefined
  requestInfo: RequestInfo
  at: number
}

/**
 * Proves an address by its mailbox alone: its reader shows a mailed link, and no session. If the address was not proven
 * yet, another person can have made the account, or changed its address to this one. So this *first proof* removes the
 * factors, keys, identities at other providers, sign-in places and mailbox for codes from before; no membership counts as entered. The caller ends the
 * sessions. Returns whether it was the first proof; null if the person has another address by now or is inactive. As the system role.
 */
export async function proveByMailbox(tx: Tx, proof: MailboxProof): Promise<{ isFirst: boolean } | null> {
  const { id, email, tenantId, bySystem = false, voucher, at } = proof
  const proved = await markProvenByMailbox(tx, proof)
  if (!proved?.is_first) return proved && { isFirst: false }
  revokeKeysOf(tx, { userId: id, at })
  await deleteAllDevices(tx, id)
  deleteIdentitiesOf(tx, id)
  await deleteSignInPlaces(tx, id)
  await dropPastAddresses(tx, id)
  forgetEntries(tx, id)
  await endTokensOf(tx, { userId: id, purposes: ['factor_undo'], at })
  const requestInfo = withoutPlace(proof.requestInfo)
  await recordVerified(tx, { userId: id, email, tenantId, bySystem, voucher, requestInfo, at })
  return { isFirst: true }
}

/** For the log of a tenant that can be a stranger's: it does not show from where the reader of the mailbox came. */
export const withoutPlace = (requestInfo: RequestInfo): RequestInfo => ({
  ...requestInfo,
  ip: '',
  userAgent: '',
})
