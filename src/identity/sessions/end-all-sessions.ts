import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { voidSomeLinks } from '../../messages/links/link-store.ts'
import { voidSomeCodes } from '../otp/code-store.ts'
import { endSomePendingSessions } from '../sign-in/pending-store.ts'
import { endSomeSessions, revokeLoggedOut } from './store.ts'

const batch = 1_000

/** Before every id. */
const firstId = '00000000-0000-0000-0000-000000000000'

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
  const purpose = 'it ends the sessions of all tenants'
  // Until nothing is left, not until a batch is short: another transaction can end a session of the batch meanwhile.
  const untilNone = async (work: (tx: Tx) => Promise<number>) => {
    let count = 0
    for (let done = 1; done > 0; count += done) done = await asSystem(db, purpose, work)
    return count
  }
  // Sessions last, because a code, a link or a pending sign-in can begin one.
  const codes = await untilNone((tx) => voidSomeCodes(tx, at, batch))
  const links = await untilNone((tx) => voidSomeLinks(tx, at, batch))
  const pendingSignIns = await untilNone((tx) => endSomePendingSessions(tx, at, batch))
  const audited = new Set<string>()
  let sessions = 0
  for (let ended = 1; ended > 0; sessions += ended) {
    const tenants = await asSystem(db, purpose, async (tx) => {
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
      return tenants
    })
    for (const tenantId of tenants) audited.add(tenantId)
    ended = tenants.length
  }
  // After the live ones: none can be logged out any more while these are found.
  for (let last: string | null = firstId; last !== null; ) {
    const after: string = last
    last = await asSystem(db, purpose, (tx) => revokeLoggedOut(tx, after, batch))
  }
  return { sessions, pendingSignIns, links, codes }
}
