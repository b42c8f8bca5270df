import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { appendAudit } from '../../platform/audit/append-audit.ts'
import { type Databases, inTenant } from '../../platform/db/transaction.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { nilUuid } from '../../platform/uuid.ts'
import type { AccessEngine } from '../../policy-engine/evaluate/engine.ts'
import { createLruCache } from '../../policy-engine/lru-cache.ts'
import type { LateModule } from '../../policy-engine/sandbox/run-modules.ts'
import { incrementPolicyRevision } from '../../tenancy/tenants/revision-store.ts'
import { switchOffModule } from './module-store.ts'

const maxKills = 10
const windowMs = 60_000
const kept = 10_000

type Kind = { tenantId: string } & Pick<LateModule, 'policyId' | 'version' | 'key'>

/**
 * Wraps the engine: a module that is killed ten times in a minute in this process is switched off, with an event and an
 * audit row. It then denies without running, until its policy has a new version.
 */
export function switchOffLateModules(
  engine: AccessEngine,
  { db, log }: { db: Pick<Databases, 'api'>; log: Logger },
  clock: () => number,
): AccessEngine {
  const kills = createLruCache<number[]>(kept)
  const note = (tenantId: string, { policyId, version, key: module, killed }: LateModule) => {
    if (!killed) return
    const now = performance.now()
    const key = `${tenantId} ${policyId} ${version} ${module}`
    const recent = [...(kills.get(key) ?? []).filter((at) => now - at < windowMs), now]
    kills.set(key, recent, 1)
    if (recent.length !== maxKills) return
    const about = { tenantId, policyId, version, key: module }
    switchOff(db, about, clock()).catch((error) =>
      log.error({ err: error, ...about }, 'a module of a policy could not be switched off'),
    )
  }
  return {
    ...engine,
    decide(query) {
      const decision = engine.decide(query)
      for (const late of decision.late ?? []) note(query.subject.tenantId, late)
      return decision
    },
  }
}

function switchOff(db: Pick<Databases, 'api'>, about: Kind, at: number): Promise<void> {
  const { tenantId, policyId, version } = about
  const requestId = `module-${randomUUID()}`
  return inTenant(db, { tenantId, userId: nilUuid }, async (tx) => {
    incrementPolicyRevision(tx, tenantId)
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
