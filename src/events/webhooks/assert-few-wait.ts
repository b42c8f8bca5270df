import type { Tx } from '../../platform/db/transaction.ts'
import { ApiError } from '../../platform/errors.ts'
import { countWaitingOnce } from './asked-store.ts'

const most = 20

/**
 * Throws 409 `limit_reached` where more tests and replays of a webhook wait than there may: a silent receiver takes
 * ten seconds for each, and those of a suspended tenant wait until it is active. The caller holds the webhook.
 */
export async function assertFewWait(tx: Tx, tenantId: string, webhookId: string): Promise<void> {
  if ((await countWaitingOnce(tx, tenantId, webhookId)) > most)
    throw new ApiError(
      409,
      'limit_reached',
      `Of one webhook ${most} tests and replays may wait. Try again when some are through.`,
    )
}
