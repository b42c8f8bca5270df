import type { Tx } from '../../database/executor/transaction.ts'
import type { RequestInfo } from '../../http/request-info.ts'

/**
 * Gives a new tenant the rules that every tenant of the installation has, in the transaction that creates it. `at` in ms
 * since 1970. Passed in, because tenancy does not know policies.
 */
export type SetUpTenant = (
  tx: Tx,
  tenant: { tenantId: string; requestInfo: RequestInfo; at: number },
) => Promise<void>
