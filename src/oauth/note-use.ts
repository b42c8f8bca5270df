import { nilUuid } from '../crypto/uuid.ts'
import { inTenant } from '../database/executor/transaction.ts'
import type { Deps } from '../deps.ts'
import type { ClientKey } from './clients/client-id.ts'
import { recordUse } from './clients/store.ts'

/** Notes when a client, and its secret with this hash, was used last. */
export const noteUse = (
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  client: ClientKey,
  secretHash: Buffer | null,
): Promise<void> =>
  inTenant(db, { tenantId: client.tenantId, userId: nilUuid }, async (tx) =>
    recordUse(tx, client, secretHash, clock()),
  )
