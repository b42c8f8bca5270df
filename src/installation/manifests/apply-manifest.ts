import { createHash } from 'node:crypto'
import { measurePatterns } from '../../authorization/policies/measure-patterns.ts'
import type { CompilerSettings } from '../../authorization/policies/modules/compile-module-text.ts'
import { canonicalJson } from '../../crypto/canonical-json.ts'
import type { Sealer } from '../../crypto/seal.ts'
import { nilUuid } from '../../crypto/uuid.ts'
import { isDatabaseAway } from '../../database/executor/database-errors.ts'
import {
  asSystem,
  type Databases,
  inTenant,
  isDatabaseUnavailable,
  sqlState,
} from '../../database/executor/transaction.ts'
import { ApiError } from '../../errors.ts'
import type { ReceiverRules } from '../../events/webhooks/public-address.ts'
import { managedSecretContext, newSecret } from '../../events/webhooks/webhook-secret.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { listTenantsBehind } from '../../tenancy/tenants/store.ts'
import { faultsOfChanges } from './check-changes.ts'
import { type AppliedManifest, compileManifest } from './compile-manifest.ts'
import { type Measured, measurePolicies } from './costly-policies.ts'
import { type Given, giveRules } from './give-rules.ts'
import { type Difference, diffManifests } from './manifest-diff.ts'
import { compileModules } from './manifest-modules.ts'
import type { ManifestClients } from './manifest-schema.ts'
import { ManifestInvalid, readManifest } from './read-manifest.ts'
import {
  type InstalledRules,
  insertManifest,
  insertWebhookSecret,
  lockManifests,
  readInstalledRules,
} from './store.ts'
import type { Conflict } from './tenant-plan.ts'

// Applying has two steps. First the manifest is stored as the next version, in one short transaction: from then on, new
// tenants get its rules. Then each tenant that is behind gets them in a transaction of its own, as the API role in the
// scope of this tenant, so no role can write the rules of several tenants at once. A tenant records the revision that it
// has: a run that ends early is continued by the next one, and two runs at once share the work.

/** What applying needs. `maxVersions` is the number of versions kept of each policy. */
export interface ApplyDeps {
  db: Pick<Databases, 'api' | 'system'>
  /** ms since 1970 */
  clock: () => number
  maxVersions: number
  /** Where webhooks can lead. */
  receivers: ReceiverRules
  clients: ManifestClients
  /** Names the compiler of modules. */
  config: CompilerSettings
  /** Seals the secrets of webhooks. Called only if a manifest has a new one. */
  sealer: () => Sealer
}

/** A version of a manifest that was stored, or the one that is the same. */
export interface Stored {
  application: string
  version: number
  isNew: boolean
  differences: readonly Difference[]
  /** The secrets of new webhooks, which are known only here. */
  secrets: readonly { webhook: string; secret: string }[]
}

/** The rules that every tenant would have after storing the manifest. */
export const rulesAfter = ({ rules, before, ...checked }: CheckedManifest): InstalledRules => ({
  revision: rules.revision + 1,
  manifests: [...rules.manifests.filter((manifest) => manifest !== before), { ...checked, created_at: 0 }],
})

/** A manifest that was checked together with those of other applications, as they are at a revision. */
interface CheckedManifest extends AppliedManifest {
  checksum: string
  rules: InstalledRules
  before: AppliedManifest | null
}

/** Checks a manifest with all others. Throws {@link ManifestInvalid}. */
export async function checkManifest(
  { db, receivers, clients, config }: Pick<ApplyDeps, 'db' | 'receivers' | 'clients' | 'config'>,
  text: string,
): Promise<CheckedManifest> {
  const { document, faults: ofForm, standsAlone } = readManifest(text, { receivers, ...clients.forms })
  if (!document) throw new ManifestInvalid(ofForm)
  const { application } = document
  const rules = await asSystem(db, 'manifests belong to no tenant', readInstalledRules)
  const before = rules.manifests.find((manifest) => manifest.application === application) ?? null
  const others = rules.manifests.filter((manifest) => manifest !== before)
  const conditions = Object.values(document.policies).map((policy) => policy.conditions ?? null)
  const known = before?.compiled.policies.flatMap(({ module }) => module ?? []) ?? []
  const { modules, faults: ofModules } = await compileModules(config, document, text, known)
  const result = compileManifest(document, others, text, await costsOf(conditions), modules)
  const changed = before ? faultsOfChanges(before.document, document, text) : []
  const ofContent = [...ofModules, ...('faults' in result ? result.faults : []), ...changed]
  const faults = [...ofForm, ...ofContent.filter(standsAlone)]
  if (faults.length > 0 || 'faults' in result) throw new ManifestInvalid(faults)
  const { $schema: _schema, ...stored } = document
  const checksum = createHash('sha256').update(canonicalJson(stored)).digest('hex')
  const version = before ? before.version + (before.checksum === checksum ? 0 : 1) : 1
  return { application, version, document: stored, compiled: result.compiled, checksum, rules, before }
}

/** Measures the patterns of each policy on its own: one policy has at most 64. */
async function costsOf(conditions: readonly unknown[]) {
  const costs: ((pattern: string) => number | undefined)[] = []
  for (const condition of conditions) costs.push(await measurePatterns(condition, null))
  return (pattern: string) => {
    const known = costs.map((cost) => cost(pattern)).filter((cost) => cost !== Number.POSITIVE_INFINITY)
    return known.length > 0 ? known[0] : Number.POSITIVE_INFINITY
  }
}

/** What storing a manifest would change. */
export const differencesOf = ({ before, document }: CheckedManifest): Difference[] =>
  diffManifests(before?.document ?? null, document)

/** Stores a manifest as the next version of its application; the same document again changes nothing. */
export async function storeManifest(deps: ApplyDeps, checked: CheckedManifest): Promise<Stored> {
  const { db, clock, clients } = deps
  const { application, version, rules, before, checksum, document } = checked
  const differences = differencesOf(checked)
  if (version === before?.version) return { application, version, isNew: false, differences, secrets: [] }
  const made = newSecrets(deps, checked)
  const secrets = await asSystem(db, 'manifests belong to no tenant', async (tx) => {
    await lockManifests(tx, 'author')
    if ((await readInstalledRules(tx)).revision !== rules.revision)
      throw new ApiError(409, 'overtaken', 'Another manifest was applied meanwhile. Run the command again.')
    const at = clock()
    await insertManifest(tx, { ...checked, checksum, revision: rules.revision + 1, at })
    await clients.store(tx, document, at)
    const stored: typeof made = []
    for (const one of made)
      if (await insertWebhookSecret(tx, { application, key: one.webhook, sealed: one.sealed, at }))
        stored.push(one)
    return stored.map(({ webhook, secret }) => ({ webhook, secret }))
  })
  return { application, version, isNew: true, differences, secrets }
}

/** A secret for each webhook. Those that have one already keep it. */
function newSecrets({ sealer }: ApplyDeps, { application, compiled }: CheckedManifest) {
  return compiled.webhooks.map(({ key }) => ({
    webhook: key,
    ...newSecret(sealer(), managedSecretContext(application, key)),
  }))
}

/** A tenant that could not get the rules. */
export interface TenantConflict {
  tenantId: string
  conflicts: readonly Conflict[]
}

/**
 * What a run over the tenants did. `conflicts` holds the first 1000. `failed`: tries that ended in an error. `refused`:
 * those of them that broke a constraint of the database (SQLSTATE class 23); the others waited too long for a lock.
 */
export interface TenantsDone {
  changed: number
  unchanged: number
  kept: number
  conflicting: number
  conflicts: TenantConflict[]
  failed: number
  refused: number
}

interface Run {
  rules: InstalledRules
  requestInfo: RequestInfo
  adopt: boolean
  dryRun: boolean
  /** Called after each batch with the number of tenants so far. */
  progress?(count: number): void
}

const batch = 100
const maxShown = 1_000
// The command has two connections as the API role.
const concurrency = 2

/** Brings the tenants that are behind to the rules of a revision, oldest first, in batches. */
export async function bringTenants(deps: ApplyDeps, run: Run): Promise<TenantsDone> {
  const counts = { changed: 0, unchanged: 0, kept: 0, conflicting: 0, failed: 0, refused: 0 }
  const done: TenantsDone = { ...counts, conflicts: [] }
  let after = nilUuid
  for (let count = 0; ; ) {
    const { revision } = run.rules
    const ids = await asSystem(deps.db, 'every tenant gets the rules of a manifest', (tx) =>
      listTenantsBehind(tx, { revision, after, limit: batch }),
    )
    const queue = [...ids]
    await Promise.all(
      Array.from({ length: concurrency }, async () => {
        for (let tenantId = queue.shift(); tenantId; tenantId = queue.shift())
          add(done, tenantId, await bringTenant(deps, run, tenantId))
      }),
    )
    count += ids.length
    if (ids.length > 0) run.progress?.(count)
    if (ids.length < batch) return done
    after = ids.at(-1)!
  }
}

type Brought = Exclude<Given, { outcome: 'unmeasured' }> | { outcome: 'failed'; isRefused: boolean }
const maxTries = 5

/**
 * Rules for one tenant. `failed` if its transaction did, for example because the tenant was locked for too long, or if its
 * policies changed again and again while they were measured.
 */
async function bringTenant(deps: ApplyDeps, run: Run, tenantId: string): Promise<Brought> {
  const { db, clock, maxVersions } = deps
  const recipient = { tenantId, requestInfo: run.requestInfo, at: clock(), maxVersions }
  const scope = { tenantId, userId: nilUuid }
  let measured: Measured | undefined
  try {
    for (let tries = 0; tries < maxTries; tries++) {
      const options = { ...run, ...(measured && { measured }) }
      const given = await inTenant(db, scope, (tx) => giveRules(tx, run.rules, recipient, options))
      if (given.outcome !== 'unmeasured') return given
      measured = await measurePolicies(given)
    }
    return { outcome: 'failed', isRefused: false }
  } catch (error) {
    if (isOfOneTenant(error)) return { outcome: 'failed', isRefused: breaksConstraint(error) }
    throw error
  }
}

/** Whether an error is about one tenant: a lock was held for too long, or a member got a role that was just deleted. */
const isOfOneTenant = (error: unknown) =>
  breaksConstraint(error) || (isDatabaseUnavailable(error) && !isDatabaseAway(error))
const breaksConstraint = (error: unknown) => sqlState(error).startsWith('23')

function add(done: TenantsDone, tenantId: string, given: Brought): void {
  if (given.outcome === 'failed') {
    done.failed++
    if (given.isRefused) done.refused++
  } else if (given.outcome !== 'current') {
    const { outcome, kept, conflicts } = given
    done.kept += kept
    if (conflicts.length === 0) done[outcome]++
    else done.conflicting++
    if (conflicts.length > 0 && done.conflicts.length < maxShown) done.conflicts.push({ tenantId, conflicts })
  }
}
