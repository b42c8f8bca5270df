import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { nilUuid } from '../../../crypto/uuid.ts'
import { type Databases, inTenant } from '../../../database/executor/transaction.ts'
import { revise } from '../../../database/revisions.ts'
import { appendAudit } from '../../../messages/audit/append-audit.ts'
import { appendEvent } from '../../../messages/outbox/append-event.ts'
import { areOfSeveral, countEnds } from '../../../policy-engine/sandbox/module-pauses.ts'
import { type EndedTask, endedTasks } from '../../../policy-engine/sandbox/module-pool.ts'
import { switchOffModule } from '../active-store.ts'

/**
 * Watches the modules in force: one whose evaluations end five threads of this process in a minute is switched off, with an
 * event and an audit row, if the evaluations are of three subjects or more: one person must not deny it to the others. It then
 * denies without running, until its policy has a new version. Returns a function that ends the watch.
 */
export function switchOffLateModules(
  { db, log }: { db: Pick<Databases, 'api'>; log: Logger },
  clock: () => number,
): () => void {
  const isEnough = countEnds(() => performance.now())
  const note = (message: unknown) => {
    const { tenantId, subject, policyId, version, key, isInForce } = message as EndedTask
    const about = { tenantId, policyId, version, key }
    const counted = `${tenantId} ${policyId} ${version} ${key}`
    if (!isInForce || !isEnough(counted, subject, areOfSeveral)) return
    switchOff(db, about, clock()).catch((error) =>
      log.error({ err: error, ...about }, 'a module of a policy could not be switched off'),
    )
  }
  endedTasks.subscribe(note)
  return () => void endedTasks.unsubscribe(note)
}

type Module = Pick<EndedTask, 'tenantId' | 'policyId' | 'version' | 'key'>

function switchOff(db: Pick<Databases, 'api'>, about: Module, at: number): Promise<void> {
  const { tenantId, policyId, version } = about
  const requestId = `module-${randomUUID()}`
  return inTenant(db, { tenantId, userId: nilUuid }, async (tx) => {
    revise(tx, tenantId)
    if (!(await switchOffModule(tx, about, at))) return
    await appendEvent(tx, {
      tenantId,
      actorId: null,
      requestId,
      at,
      type: 'authorization.policy_switched_off',
      subject: policyId,
      data: { policy_id: policyId, version },
    })
    await appendAudit(tx, {
      tenantId,
      actor: null,
      requestInfo: { requestId, ip: '', userAgent: '' },
      action: 'policy:switch_off',
      target: { type: 'policy', id: policyId },
      at,
    })
  })
}
