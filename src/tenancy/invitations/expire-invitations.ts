import { asWorker, type Databases, type Tx } from '../../database/executor/transaction.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { expireSome } from './store.ts'

/** Records that an invitation expired, in the transaction that marks it: this happens once. */
export async function recordExpired(
  tx: Tx,
  expired: { tenantId: string; id: string; requestId: string; at: number },
): Promise<void> {
  const { tenantId, id, requestId, at } = expired
  await appendEvent(tx, {
    type: 'tenant.invitation_expired',
    tenantId,
    subject: id,
    data: { invitation_id: id },
    actorId: null,
    requestId,
    at,
  })
  await appendAudit(tx, {
    tenantId,
    actor: null,
    requestInfo: { requestId, ip: '', userAgent: '' },
    action: 'invitation:expire',
    target: { type: 'invitation', id },
    changes: { status: { before: 'pending', after: 'expired' } },
    at,
  })
}

const batch = 100

/** Marks overdue invitations of all tenants as expired and records each once; returns how many. `now`: ms since 1970. */
export async function expireInvitations(db: Pick<Databases, 'worker'>, now: number): Promise<number> {
  let total = 0
  for (;;) {
    const expired = await asWorker(db, async (tx) => {
      const rows = await expireSome(tx, now, batch)
      for (const { tenant_id: tenantId, id } of rows)
        await recordExpired(tx, { tenantId, id, requestId: 'invitation-expiry', at: now })
      return rows.length
    })
    total += expired
    if (expired < batch) return total
  }
}
