import type { Logger } from 'pino'
import type { ShadowCounter } from './authorization/decisions/shadow-counts.ts'
import type { WordsInRoles } from './authorization/evaluation/words-in-roles.ts'
import type { SlicedPolicies } from './authorization/policies/slice-policies.ts'
import type { PasswordHasher } from './crypto/passwords.ts'
import type { Sealer } from './crypto/seal.ts'
import type { TokenSigner } from './crypto/token-signer.ts'
import type { Databases } from './database/executor/transaction.ts'
import type { RequestLog } from './directory/log/request-log.ts'
import type { OpenApiKeys } from './identity/api-keys/api-keys.ts'
import type { SigningKeys } from './identity/keys/key-ring-watch.ts'
import type { Limiters } from './identity/rate-limits/limiters.ts'
import type { HoldBytes } from './limits/body-bytes.ts'
import type { DecisionPace } from './limits/decision-time.ts'
import type { KeyedSemaphore } from './limits/keyed-semaphore.ts'
import type { Metrics } from './observe/metrics/metrics.ts'
import type { AccessEngine } from './policy-engine/evaluate/engine.ts'
import type { Approvals } from './request/change/approvals.ts'
import type { DecisionLog, DeclaredWords, PolicyCache } from './request/policies-in-force.ts'
import type { CallLimits } from './request/ports.ts'
import type { Config } from './settings/config.ts'
import type { SetUpTenant } from './tenancy/tenants/set-up-tenant.ts'

/**
 * What the features share. open-deps.ts opens it once per process; each function takes what it needs as an argument.
 */
export interface Deps {
  config: Config
  log: Logger
  /** ms since 1970; the only source of time. */
  clock: () => number
  db: Omit<Databases, 'worker'>
  passwords: PasswordHasher
  sealer: Sealer
  signer: TokenSigner
  /** The keys of `signer`, for what signs by itself. */
  keys: SigningKeys
  access: AccessEngine
  /** For a request that makes many decisions. */
  newPace: () => DecisionPace
  policyCache: PolicyCache<SlicedPolicies>
  decisionLog: DecisionLog
  /** What the manifests declare, for the hints of an evaluation. */
  declaredWords: DeclaredWords
  /** What the roles of a tenant name, for the same hints. */
  wordsInRoles: WordsInRoles
  /** What policies in shadow mode would have done. */
  shadowCounts: ShadowCounter
  /** What directories asked over SCIM. */
  directoryLog: RequestLog
  approvals: Approvals
  apiKeys: OpenApiKeys
  /** Limits of RATE_LIMIT_ENABLED on requests that need no token. */
  limiters: Limiters
  /** Limits of RATE_LIMIT_ENABLED on the calls of users and tenants. */
  callLimits: CallLimits
  /** Counts the bytes of long bodies. */
  holdBytes: HoldBytes
  /** Base of links and list URLs, without a trailing slash. Known once the process listens. */
  publicUrl: () => string
  /** Gives a new tenant the rules of the installation's manifests. */
  setUpTenant: SetUpTenant
  metrics: Metrics
  semaphores: Semaphores
}

/** Concurrency limits, per key. */
export interface Semaphores {
  /** Requests of one tenant. */
  perTenant: KeyedSemaphore
  /** Sign-ins to one account from one address: many correct ones at the same time must not count as guesses. */
  perSignIn: KeyedSemaphore
}
