import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { listMembershipsOf } from '../../tenancy/members/store.ts'
import { endSessions } from '../sessions/end-session.ts'
import { endSessionsOf } from '../sessions/store.ts'
import { countMailedCodes } from '../users/address-store.ts'
import { notifyPerson } from '../users/notify-people.ts'
import { findPersonBy, lockUser } from '../users/store.ts'
import { recordRemoved } from './record-device.ts'
import { deleteAllDevices } from './store.ts'

/** The result: `removed` are the kinds of the removed factors. */
interface FactorsReset {
  user: { id: string; email: string }
  removed: string[]
  sessionsEnded: number
}

/**
 * Removes the passkeys, apps and recovery codes of a person who lost them, for an operator; null if there is no such person. Ends
 * every session, and makes codes by e-mail count at once. Adds a row to the audit log of each of their tenants, and mails
 * the person.
 */
export function resetFactors(
  { db, clock, sealer }: Pick<Deps, 'clock' | 'sealer'> & { db: Pick<Deps['db'], 'system'> },
  requestInfo: RequestInfo,
  person: { email: string } | { id: string },
): Promise<FactorsReset | null> {
  const at = clock()
  return asSystem(db, 'a person has the same factors in every tenant', async (tx) => {
    const user = await findPersonBy(tx, person)
    if (!user) return null
    const { id: userId, email, first_name: firstName } = user
    if (!(await lockUser(tx, userId))) return null
    const devices = await deleteAllDevices(tx, userId)
    await countMailedCodes(tx, userId)
    const memberships = await listMembershipsOf(tx, userId)
    const target = { type: 'user', id: userId }
    for (const { tenant_id: tenantId } of memberships)
      await appendAudit(tx, { tenantId, actor: null, requestInfo, action: 'user:reset_factors', target, at })
    const removed = devices.map(({ type }) => type)
    const [home] = memberships
    const ending = { userId, exceptId: null, reason: 'undone', at } as const
    // Events and mails belong to a tenant.
    if (!home)
      return { user: { id: userId, email }, removed, sessionsEnded: (await endSessionsOf(tx, ending)).length }
    const common = { tenantId: home.tenant_id, requestId: requestInfo.requestId, at }
    await recordRemoved(tx, userId, { ...common, actorId: null }, devices)
    const sessionsEnded = await endSessions(tx, { ...common, ...ending, actorId: null })
    const mail = { template: 'second_factors_reset', variables: { firstName } } as const
    await notifyPerson(tx, sealer, userId, { tenantId: home.tenant_id, requestInfo, at, ...mail })
    return { user: { id: userId, email }, removed, sessionsEnded }
  })
}
