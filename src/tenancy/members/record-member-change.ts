import type { Tx } from '../../database/executor/transaction.ts'
import type { AuditActor, AuditRow } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import type { MemberRow } from './store.ts'

const events = {
  changed: { person: 'tenant.member_updated', account: 'tenant.service_account_updated' },
  removed: { person: 'tenant.member_removed', account: 'tenant.service_account_deleted' },
} as const

interface MemberChanged extends Pick<AuditRow, 'action' | 'changes'> {
  what: keyof typeof events
}

/** Records a change of a membership: as one of the member, or of the service account that it is. */
export function recordMemberChange(
  tx: Tx,
  doer: AuditActor,
  at: number,
  { id, user_id }: Pick<MemberRow, 'id' | 'user_id'>,
  { what, ...audit }: MemberChanged,
): Promise<void> {
  const { person, account } = events[what]
  if (user_id === null)
    return recordChange(tx, doer, at, {
      event: account,
      data: { service_account_id: id },
      target: { type: 'service_account', id },
      ...audit,
    })
  return recordChange(tx, doer, at, {
    event: person,
    data: { membership_id: id, user_id },
    target: { type: 'member', id },
    ...audit,
  })
}
