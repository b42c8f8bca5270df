import type { Deps } from '../../deps.ts'
import { appendAudit } from '../../platform/audit/append-audit.ts'
import { asSystem, type Tx } from '../../platform/db/transaction.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { voidSomeLinks } from '../../platform/links/link-store.ts'
import { voidSomeCodes } from '../otp/code-store.ts'
import { endSomePendingSessions, endSomeSessions } from './store.ts'

const batch = 1_000

/** How many rows of each kind were ended or voided. */
interface EndedEverywhere {
  sessions: number
  pendingSignIns: number
  links: number
  codes: number
}

/**
 * Ends every session of the installation and every sign-in that waits for a second factor, and voids the mailed links
 * and codes, in batches. Adds one row to the audit log of each tenant with such a session. Appends no events, since
 * receivers would get one for each session.
 */
export async function endAllSessions(
  { db, clock }: { db: Pick<Deps['db'], 'system'>; clock: () => number },
  requestInfo: RequestInfo,
): Promise<EndedEverywhere> {
  const at = clock()
  const audited = new Set<string>()
  const inBatches = async (work: (tx: Tx) => Promise<number>) => {
    let count = 0
    for (let done = batch; done === batch; count += done)
      done = await asSystem(db, 'it ends the sessions of all tenants', work)
    return count
  }
  const sessions = await inBatches(async (tx) => {
    const tenants = await endSomeSessions(tx, at, batch)
    for (const tenantId of new Set(tenants.filter((id) => !audited.has(id))))
      await appendAudit(tx, {
        tenantId,
        actor: null,
        requestInfo,
        action: 'session:end_all',
        target: { type: 'tenant', id: tenantId },
        at,
      })
    for (const tenantId of tenants) audited.add(tenantId)
    return tenants.length
  })
  const pendingSignIns = await inBatches((tx) => endSomePendingSessions(tx, at, batch))
  const links = await inBatches((tx) => voidSomeLinks(tx, at, batch))
  const codes = await inBatches((tx) => voidSomeCodes(tx, at, batch))
  return { sessions, pendingSignIns, links, codes }
}
