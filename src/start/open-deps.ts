import { availableParallelism } from 'node:os'
import type { Logger } from 'pino'
import { createApprovals } from '../authorization/approvals/approvals.ts'
import {
  measureEndedModules,
  measureEngine,
  measureLog,
  measurePolicies,
} from '../authorization/decisions/measure-decisions.ts'
import { decisionLog } from '../authorization/decisions/record-decision.ts'
import { shadowCounter } from '../authorization/decisions/shadow-counts.ts'
import { declaredWords } from '../authorization/evaluation/declared-words.ts'
import { wordsInRoles } from '../authorization/evaluation/words-in-roles.ts'
import { readyModules } from '../authorization/policies/modules/ready-modules.ts'
import { switchOffLateModules } from '../authorization/policies/modules/switch-off-late-modules.ts'
import { policyCache } from '../authorization/policies/policy-cache.ts'
import { createMeasuredHasher, type HashLimits, lowerHashThreadPriority } from '../crypto/passwords.ts'
import { createSealer } from '../crypto/seal.ts'
import { createTokenSigner } from '../crypto/token-signer.ts'
import { isDatabaseAway, isDatabaseUnavailable } from '../database/executor/database-errors.ts'
import { openMeasuredPool } from '../database/executor/measure-pool.ts'
import { openConnections } from '../database/executor/open-connections.ts'
import type { Pool } from '../database/executor/pool.ts'
import { sendingOf } from '../database/executor/scope.ts'
import { connectionName } from '../database/migrate/running-releases.ts'
import type { Deps } from '../deps.ts'
import { requestLog } from '../directory/log/request-log.ts'
import { openApiKeys } from '../identity/api-keys/api-keys.ts'
import { loadKeyRing } from '../identity/keys/key-ring.ts'
import { watchKeyRing } from '../identity/keys/key-ring-watch.ts'
import { openCallLimits } from '../identity/rate-limits/call-limits.ts'
import { openLimiters } from '../identity/rate-limits/limiters.ts'
import { sweepRateLimits } from '../identity/rate-limits/sweep-rate-limits.ts'
import { openTenantSetUp } from '../installation/manifests/set-up-tenant.ts'
import { createBodyBytes } from '../limits/body-bytes.ts'
import { decisionPace, limitDecisionTime } from '../limits/decision-time.ts'
import { createKeyedSemaphore } from '../limits/keyed-semaphore.ts'
import { createMetrics, type Metrics } from '../observe/metrics/metrics.ts'
import type { AccessEngine } from '../policy-engine/evaluate/engine.ts'
import type { Config } from '../settings/config.ts'
import { version } from '../settings/version.ts'
import { openEngine } from './open-engine.ts'

/** Dependencies that a process can supply. The API makes the others itself. */
export interface SuppliedDeps {
  clock?: () => number
  /** Metrics that the process shares with its workers. */
  metrics?: Metrics
  /** A policy engine that the process shares. Loading one takes 300 ms. */
  engine?: AccessEngine
  /** Cost of password hashes. Only tests set one below the recommended cost. */
  hashing?: HashLimits
  /** Whether to open the connections to Postgres at once. A balancer sends a process all its traffic as soon as it is ready. */
  connectsAtStart?: boolean
  /** Rejects if the database cannot be trusted. Meanwhile the policies are checked. */
  databaseIsSound?: Promise<void>
}

/**
 * Opens what the API needs: pools, signing keys, the policy engine. `settings` must name the databases and keys.
 * Rejects when a dependency is unavailable, so the API never listens without one. Call `close` when no request is in
 * flight.
 */
export async function openDeps(
  settings: { config: Config; log: Logger; publicUrl: () => string } & SuppliedDeps,
): Promise<Deps & { close(): Promise<void> }> {
  const { config, log, publicUrl, clock = Date.now, metrics = createMetrics(version), hashing } = settings
  const { connectsAtStart = false } = settings
  const { DATABASE_API_URL: apiUrl, DATABASE_SYSTEM_URL: systemUrl, SECRET_KEYS: keys } = config
  if (!apiUrl || !systemUrl || !keys)
    throw new Error(
      'The API needs DATABASE_API_URL, DATABASE_SYSTEM_URL and SECRET_KEYS. Without them, use npm start.',
    )
  const common = { ...sendingOf(config), applicationName: connectionName('api') }
  const size = config.DATABASE_POOL_SIZE ?? availableParallelism() + 2
  const api = openMeasuredPool(apiUrl, { ...common, size }, { name: 'api', metrics })
  const system = openMeasuredPool(systemUrl, { ...common, size }, { name: 'system', metrics })
  // The checks of the database need connections, too: where there are few, they come first.
  const connect = async (pool: Pool) => {
    await settings.databaseIsSound
    await openConnections(pool, size, log)
  }
  const [passwords, engine] = await Promise.all([
    createMeasuredHasher(metrics, hashing),
    settings.engine ?? openEngine(config),
    settings.databaseIsSound,
    ...(connectsAtStart ? [api, system].map(connect) : []),
  ])
  lowerHashThreadPriority()
  const readUrl = config.DATABASE_READ_URL
  const replica = readUrl && openMeasuredPool(readUrl, { ...common, size }, { name: 'replica', metrics })
  const db = { api, system, ...(replica && { replica }) }
  const endSwitching = switchOffLateModules({ db, log }, clock)
  const endMeasuring = measureEndedModules(metrics, log)
  const measured = measureEngine(engine, metrics)
  const limit = config.LIMIT_DECISION_MS_PER_SECOND
  // Trials and shadow policies have limits of their own, so that they never take the time of real decisions.
  const trials = limitDecisionTime(measureEngine(engine.trials, metrics), limit)
  const access = { ...limitDecisionTime(measured, limit), trials }
  const shadowAccess = limitDecisionTime(measured, Math.ceil(limit / 5))
  metrics.policyRevision(access.revision)
  const sealer = createSealer(keys)
  const ring = await watchKeyRing(() => loadKeyRing({ db, sealer, clock, config, publicUrl }), log)
  const limiters = await openLimiters(config, db, log, clock, metrics.limitRefused)
  const callLimits = openCallLimits(config, db, clock, log, metrics.limitRefused)
  const endSweeping = sweepRateLimits(db, clock, log)
  const apiKeys = openApiKeys(db, log)
  const shadowCounts = shadowCounter({ db, log, metrics }, clock)
  const directoryLog = requestLog(db, log, clock)
  const close = async () => {
    ring.close()
    endSweeping()
    endSwitching()
    endMeasuring()
    callLimits.close()
    limiters.close()
    await Promise.all([shadowCounts.flush(), apiKeys.flush(), decisions.flush(), directoryLog.flush()])
    await Promise.all(Object.values(db).map((pool) => pool.end()))
  }
  const signer = createTokenSigner(ring.now, ring.lookAgain)
  const decisions = decisionLog({ db, log, metrics, config, access: shadowAccess, shadowCounts })
  return {
    config,
    log,
    clock,
    db,
    passwords,
    sealer,
    signer,
    keys: ring,
    access,
    newPace: () => decisionPace(config.LIMIT_DECISION_MS_PER_REQUEST),
    policyCache: readyModules(measurePolicies(policyCache({ db }), metrics), access),
    decisionLog: measureLog(decisions, metrics),
    declaredWords: declaredWords({ db, clock }),
    wordsInRoles: wordsInRoles({ db }),
    shadowCounts,
    directoryLog,
    limiters,
    apiKeys,
    callLimits,
    holdBytes: createBodyBytes(config.LIMIT_BODIES_MIB * 2 ** 20),
    approvals: createApprovals({ config, db, sealer, publicUrl }),
    publicUrl,
    setUpTenant: openTenantSetUp(),
    metrics,
    semaphores: {
      // More concurrent requests would be no faster, because a role has no more connections.
      perTenant: createKeyedSemaphore({
        maxConcurrent: size,
        maxBesideOthers: Math.max(2, Math.ceil(size / 2)),
        maxWaiting: 1_000,
        maxWaitMs: 5_000,
        failsAll: isDatabaseAway,
        explainsWait: isDatabaseUnavailable,
      }),
      perSignIn: createKeyedSemaphore({ maxConcurrent: 4, maxWaiting: 1_000, maxWaitMs: 25_000 }),
    },
    close,
  }
}
